/* crypto: AES, SHA-1, SHA-256, carry-less multiplication, CRC-32. */
//@ about aes sha1 sha256 pmull crc32
//@ loops 500000
//@ need aes sha1 sha2 pmull crc32
	.arch	armv8-a+crypto+crc
#include "section.inc"
	KERNEL	crypto
	COPY_IMAGE
	ldp	q0, q1, [x20]			//= load
	BODY
	.irp	op, aese, aesd, aesmc, aesimc
	CASE	\op	v4.16b, v0.16b		//= int
	.endr
	CASE	sha1h	s4, s0			//= int
	CASE	sha1c	q4, s0, v1.4s		//= int
	CASE	sha1su0	v4.4s, v0.4s, v1.4s	//= int
	CASE	sha256h	q4, q0, v1.4s		//= int
	CASE	sha256su0 v4.4s, v0.4s		//= int
	CASE	pmull	v4.1q, v0.1d, v1.1d	//= int
	CASE	crc32x	w3, w1, x1
	CASE	crc32cb	w3, w1, w1
	BODY_END
	RETURN
	IMAGE
	.quad	1, 2, 3, 4
	KERNEL_END crypto
