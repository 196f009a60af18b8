/* The sparse opcode maps, one VOP() an opcode and mandatory prefix, each followed
 * by the VROW()s it chooses among, if any; decode-tables-vector.c includes this
 * three times, to number, to fill and to find the rows.
 *
 *	VOP(map, prefix, opcode, row)	0F 0F38 0F3A: legacy; V…: VEX; E…: EVEX; X…: XOP
 *	LEG(operands, …)		a legacy instruction
 *	VEC(operands, permits, …)	a VEX, EVEX or XOP one: the W, lengths and so on it has
 *	STEP(by, n)			choose; the choices begin n rows further on
 *	XR XW XRW GR GW GRW		r/m, a vector or a general register or memory, read, written
 *
 * A row says what is an instruction, what it does to memory, flags and general
 * registers and what it counts as: vector registers do not matter to the engine.
 */
VOP(0F, NP, 10, LEG(XR))	/* movups */
VOP(0F, NP, 11, LEG(XW))	/* movups */
VOP(0F, NP, 12, LEG(XR))	/* movlps movhlps */
VOP(0F, NP, 13, LEG(GW | A_NOREG))	/* movlps */
VOP(0F, NP, 14, LEG(XR))	/* unpcklps */
VOP(0F, NP, 15, LEG(XR))	/* unpckhps */
VOP(0F, NP, 16, LEG(XR))	/* movhps movlhps */
VOP(0F, NP, 17, LEG(GW | A_NOREG))	/* movhps */
VOP(0F, NP, 28, LEG(XR))	/* movaps */
VOP(0F, NP, 29, LEG(XW))	/* movaps */
VOP(0F, NP, 2A, LEG(XR, .classes = FP | MMX))	/* cvtpi2ps */
VOP(0F, NP, 2B, LEG(GW | A_NOREG))	/* movntps */
VOP(0F, NP, 2C, LEG(XR, .classes = FP | MMX))	/* cvttps2pi */
VOP(0F, NP, 2D, LEG(XR, .classes = FP | MMX))	/* cvtps2pi */
VOP(0F, NP, 2E, LEG(XR, .classes = FP, .flags = F_ALL))	/* ucomiss */
VOP(0F, NP, 2F, LEG(XR, .classes = FP, .flags = F_ALL))	/* comiss */
VOP(0F, NP, 50, LEG(XR | A_REG_W | A_NOMEM))	/* movmskps */
VOP(0F, NP, 51, LEG(XR, .classes = FP))	/* sqrtps */
VOP(0F, NP, 52, LEG(XR, .classes = FP))	/* rsqrtps */
VOP(0F, NP, 53, LEG(XR, .classes = FP))	/* rcpps */
VOP(0F, NP, 54, LEG(XR))	/* andps */
VOP(0F, NP, 55, LEG(XR))	/* andnps */
VOP(0F, NP, 56, LEG(XR))	/* orps */
VOP(0F, NP, 57, LEG(XR))	/* xorps */
VOP(0F, NP, 58, LEG(XR, .classes = FP))	/* addps */
VOP(0F, NP, 59, LEG(XR, .classes = FP | CLASS_MUL_FP))	/* mulps */
VOP(0F, NP, 5A, LEG(XR, .classes = FP))	/* cvtps2pd */
VOP(0F, NP, 5B, LEG(XR, .classes = FP))	/* cvtdq2ps */
VOP(0F, NP, 5C, LEG(XR, .classes = FP))	/* subps */
VOP(0F, NP, 5D, LEG(XR, .classes = FP))	/* minps */
VOP(0F, NP, 5E, LEG(XR, .classes = FP | CLASS_DIV_FP))	/* divps */
VOP(0F, NP, 5F, LEG(XR, .classes = FP))	/* maxps */
VOP(0F, NP, 60, LEG(XR, .classes = INT | MMX))	/* punpcklbw */
VOP(0F, NP, 61, LEG(XR, .classes = INT | MMX))	/* punpcklwd */
VOP(0F, NP, 62, LEG(XR, .classes = INT | MMX))	/* punpckldq */
VOP(0F, NP, 63, LEG(XR, .classes = INT | MMX))	/* packsswb */
VOP(0F, NP, 64, LEG(XR, .classes = INT | MMX))	/* pcmpgtb */
VOP(0F, NP, 65, LEG(XR, .classes = INT | MMX))	/* pcmpgtw */
VOP(0F, NP, 66, LEG(XR, .classes = INT | MMX))	/* pcmpgtd */
VOP(0F, NP, 67, LEG(XR, .classes = INT | MMX))	/* packuswb */
VOP(0F, NP, 68, LEG(XR, .classes = INT | MMX))	/* punpckhbw */
VOP(0F, NP, 69, LEG(XR, .classes = INT | MMX))	/* punpckhwd */
VOP(0F, NP, 6A, LEG(XR, .classes = INT | MMX))	/* punpckhdq */
VOP(0F, NP, 6B, LEG(XR, .classes = INT | MMX))	/* packssdw */
VOP(0F, NP, 6E, LEG(GR, .classes = MMX))	/* movd movq */
VOP(0F, NP, 6F, LEG(XR, .classes = MMX))	/* movq */
VOP(0F, NP, 70, LEG(XR | IB, .classes = INT | MMX))	/* pshufw */
VOP(0F, NP, 71, STEP(K_REG, 1))	/* psrlw psraw psllw */
VROW(NONE)
VROW(NONE)
VROW(LEG(XRW | IB | A_NOMEM, .classes = INT | MMX))
VROW(NONE)
VROW(LEG(XRW | IB | A_NOMEM, .classes = INT | MMX))
VROW(NONE)
VROW(LEG(XRW | IB | A_NOMEM, .classes = INT | MMX))
VROW(NONE)
VOP(0F, NP, 72, STEP(K_REG, 1))	/* psrld psrad pslld */
VROW(NONE)
VROW(NONE)
VROW(LEG(XRW | IB | A_NOMEM, .classes = INT | MMX))
VROW(NONE)
VROW(LEG(XRW | IB | A_NOMEM, .classes = INT | MMX))
VROW(NONE)
VROW(LEG(XRW | IB | A_NOMEM, .classes = INT | MMX))
VROW(NONE)
VOP(0F, NP, 73, STEP(K_REG, 1))	/* psrlq psllq */
VROW(NONE)
VROW(NONE)
VROW(LEG(XRW | IB | A_NOMEM, .classes = INT | MMX))
VROW(NONE)
VROW(NONE)
VROW(NONE)
VROW(LEG(XRW | IB | A_NOMEM, .classes = INT | MMX))
VROW(NONE)
VOP(0F, NP, 74, LEG(XR, .classes = INT | MMX))	/* pcmpeqb */
VOP(0F, NP, 75, LEG(XR, .classes = INT | MMX))	/* pcmpeqw */
VOP(0F, NP, 76, LEG(XR, .classes = INT | MMX))	/* pcmpeqd */
VOP(0F, NP, 77, LEG(0, .classes = MMX))	/* emms */
VOP(0F, NP, 7E, LEG(GW, .classes = MMX))	/* movd movq */
VOP(0F, NP, 7F, LEG(XW, .classes = MMX))	/* movq */
VOP(0F, NP, C2, LEG(XR | IB, .classes = FP))	/* cmpps */
VOP(0F, NP, C3, LEG(GW | A_REG_R | A_NOREG))	/* movnti */
VOP(0F, NP, C4, LEG(GR | IB, .classes = INT | MMX))	/* pinsrw */
VOP(0F, NP, C5, LEG(XR | A_REG_W | IB | A_NOMEM, .classes = INT | MMX))	/* pextrw */
VOP(0F, NP, C6, LEG(XR | IB))	/* shufps */
VOP(0F, NP, D1, LEG(XR, .classes = INT | MMX))	/* psrlw */
VOP(0F, NP, D2, LEG(XR, .classes = INT | MMX))	/* psrld */
VOP(0F, NP, D3, LEG(XR, .classes = INT | MMX))	/* psrlq */
VOP(0F, NP, D4, LEG(XR, .classes = INT | MMX))	/* paddq */
VOP(0F, NP, D5, LEG(XR, .classes = INT | MMX))	/* pmullw */
VOP(0F, NP, D7, LEG(XR | A_REG_W | A_NOMEM, .classes = INT | MMX))	/* pmovmskb */
VOP(0F, NP, D8, LEG(XR, .classes = INT | MMX))	/* psubusb */
VOP(0F, NP, D9, LEG(XR, .classes = INT | MMX))	/* psubusw */
VOP(0F, NP, DA, LEG(XR, .classes = INT | MMX))	/* pminub */
VOP(0F, NP, DB, LEG(XR, .classes = INT | MMX))	/* pand */
VOP(0F, NP, DC, LEG(XR, .classes = INT | MMX))	/* paddusb */
VOP(0F, NP, DD, LEG(XR, .classes = INT | MMX))	/* paddusw */
VOP(0F, NP, DE, LEG(XR, .classes = INT | MMX))	/* pmaxub */
VOP(0F, NP, DF, LEG(XR, .classes = INT | MMX))	/* pandn */
VOP(0F, NP, E0, LEG(XR, .classes = INT | MMX))	/* pavgb */
VOP(0F, NP, E1, LEG(XR, .classes = INT | MMX))	/* psraw */
VOP(0F, NP, E2, LEG(XR, .classes = INT | MMX))	/* psrad */
VOP(0F, NP, E3, LEG(XR, .classes = INT | MMX))	/* pavgw */
VOP(0F, NP, E4, LEG(XR, .classes = INT | MMX))	/* pmulhuw */
VOP(0F, NP, E5, LEG(XR, .classes = INT | MMX))	/* pmulhw */
VOP(0F, NP, E7, LEG(GW | A_NOREG, .classes = MMX))	/* movntq */
VOP(0F, NP, E8, LEG(XR, .classes = INT | MMX))	/* psubsb */
VOP(0F, NP, E9, LEG(XR, .classes = INT | MMX))	/* psubsw */
VOP(0F, NP, EA, LEG(XR, .classes = INT | MMX))	/* pminsw */
VOP(0F, NP, EB, LEG(XR, .classes = INT | MMX))	/* por */
VOP(0F, NP, EC, LEG(XR, .classes = INT | MMX))	/* paddsb */
VOP(0F, NP, ED, LEG(XR, .classes = INT | MMX))	/* paddsw */
VOP(0F, NP, EE, LEG(XR, .classes = INT | MMX))	/* pmaxsw */
VOP(0F, NP, EF, LEG(XR, .classes = INT | MMX))	/* pxor */
VOP(0F, NP, F1, LEG(XR, .classes = INT | MMX))	/* psllw */
VOP(0F, NP, F2, LEG(XR, .classes = INT | MMX))	/* pslld */
VOP(0F, NP, F3, LEG(XR, .classes = INT | MMX))	/* psllq */
VOP(0F, NP, F4, LEG(XR, .classes = INT | MMX))	/* pmuludq */
VOP(0F, NP, F5, LEG(XR, .classes = INT | MMX))	/* pmaddwd */
VOP(0F, NP, F6, LEG(XR, .classes = INT | MMX))	/* psadbw */
VOP(0F, NP, F7, LEG(XR | A_IMPLICIT | A_NOMEM, .classes = MMX | ST, .regs = R_DI_R))	/* maskmovq */
VOP(0F, NP, F8, LEG(XR, .classes = INT | MMX))	/* psubb */
VOP(0F, NP, F9, LEG(XR, .classes = INT | MMX))	/* psubw */
VOP(0F, NP, FA, LEG(XR, .classes = INT | MMX))	/* psubd */
VOP(0F, NP, FB, LEG(XR, .classes = INT | MMX))	/* psubq */
VOP(0F, NP, FC, LEG(XR, .classes = INT | MMX))	/* paddb */
VOP(0F, NP, FD, LEG(XR, .classes = INT | MMX))	/* paddw */
VOP(0F, NP, FE, LEG(XR, .classes = INT | MMX))	/* paddd */
VOP(0F, 66, 10, LEG(XR))	/* movupd */
VOP(0F, 66, 11, LEG(XW))	/* movupd */
VOP(0F, 66, 12, LEG(GR | A_NOREG))	/* movlpd */
VOP(0F, 66, 13, LEG(GW | A_NOREG))	/* movlpd */
VOP(0F, 66, 14, LEG(XR))	/* unpcklpd */
VOP(0F, 66, 15, LEG(XR))	/* unpckhpd */
VOP(0F, 66, 16, LEG(GR | A_NOREG))	/* movhpd */
VOP(0F, 66, 17, LEG(GW | A_NOREG))	/* movhpd */
VOP(0F, 66, 28, LEG(XR))	/* movapd */
VOP(0F, 66, 29, LEG(XW))	/* movapd */
VOP(0F, 66, 2A, LEG(XR, .classes = FP | MMX))	/* cvtpi2pd */
VOP(0F, 66, 2B, LEG(GW | A_NOREG))	/* movntpd */
VOP(0F, 66, 2C, LEG(XR, .classes = FP | MMX))	/* cvttpd2pi */
VOP(0F, 66, 2D, LEG(XR, .classes = FP | MMX))	/* cvtpd2pi */
VOP(0F, 66, 2E, LEG(XR, .classes = FP, .flags = F_ALL))	/* ucomisd */
VOP(0F, 66, 2F, LEG(XR, .classes = FP, .flags = F_ALL))	/* comisd */
VOP(0F, 66, 50, LEG(XR | A_REG_W | A_NOMEM))	/* movmskpd */
VOP(0F, 66, 51, LEG(XR, .classes = FP))	/* sqrtpd */
VOP(0F, 66, 54, LEG(XR))	/* andpd */
VOP(0F, 66, 55, LEG(XR))	/* andnpd */
VOP(0F, 66, 56, LEG(XR))	/* orpd */
VOP(0F, 66, 57, LEG(XR))	/* xorpd */
VOP(0F, 66, 58, LEG(XR, .classes = FP))	/* addpd */
VOP(0F, 66, 59, LEG(XR, .classes = FP | CLASS_MUL_FP))	/* mulpd */
VOP(0F, 66, 5A, LEG(XR, .classes = FP))	/* cvtpd2ps */
VOP(0F, 66, 5B, LEG(XR, .classes = FP))	/* cvtps2dq */
VOP(0F, 66, 5C, LEG(XR, .classes = FP))	/* subpd */
VOP(0F, 66, 5D, LEG(XR, .classes = FP))	/* minpd */
VOP(0F, 66, 5E, LEG(XR, .classes = FP | CLASS_DIV_FP))	/* divpd */
VOP(0F, 66, 5F, LEG(XR, .classes = FP))	/* maxpd */
VOP(0F, 66, 60, LEG(XR, .classes = INT))	/* punpcklbw */
VOP(0F, 66, 61, LEG(XR, .classes = INT))	/* punpcklwd */
VOP(0F, 66, 62, LEG(XR, .classes = INT))	/* punpckldq */
VOP(0F, 66, 63, LEG(XR, .classes = INT))	/* packsswb */
VOP(0F, 66, 64, LEG(XR, .classes = INT))	/* pcmpgtb */
VOP(0F, 66, 65, LEG(XR, .classes = INT))	/* pcmpgtw */
VOP(0F, 66, 66, LEG(XR, .classes = INT))	/* pcmpgtd */
VOP(0F, 66, 67, LEG(XR, .classes = INT))	/* packuswb */
VOP(0F, 66, 68, LEG(XR, .classes = INT))	/* punpckhbw */
VOP(0F, 66, 69, LEG(XR, .classes = INT))	/* punpckhwd */
VOP(0F, 66, 6A, LEG(XR, .classes = INT))	/* punpckhdq */
VOP(0F, 66, 6B, LEG(XR, .classes = INT))	/* packssdw */
VOP(0F, 66, 6C, LEG(XR, .classes = INT))	/* punpcklqdq */
VOP(0F, 66, 6D, LEG(XR, .classes = INT))	/* punpckhqdq */
VOP(0F, 66, 6E, LEG(GR))	/* movd movq */
VOP(0F, 66, 6F, LEG(XR))	/* movdqa */
VOP(0F, 66, 70, LEG(XR | IB, .classes = INT))	/* pshufd */
VOP(0F, 66, 71, STEP(K_REG, 1))	/* psrlw psraw psllw */
VROW(NONE)
VROW(NONE)
VROW(LEG(XRW | IB | A_NOMEM, .classes = INT))
VROW(NONE)
VROW(LEG(XRW | IB | A_NOMEM, .classes = INT))
VROW(NONE)
VROW(LEG(XRW | IB | A_NOMEM, .classes = INT))
VROW(NONE)
VOP(0F, 66, 72, STEP(K_REG, 1))	/* psrld psrad pslld */
VROW(NONE)
VROW(NONE)
VROW(LEG(XRW | IB | A_NOMEM, .classes = INT))
VROW(NONE)
VROW(LEG(XRW | IB | A_NOMEM, .classes = INT))
VROW(NONE)
VROW(LEG(XRW | IB | A_NOMEM, .classes = INT))
VROW(NONE)
VOP(0F, 66, 73, STEP(K_REG, 1))	/* psrlq psrldq psllq pslldq */
VROW(NONE)
VROW(NONE)
VROW(LEG(XRW | IB | A_NOMEM, .classes = INT))
VROW(LEG(XRW | IB | A_NOMEM, .classes = INT))
VROW(NONE)
VROW(NONE)
VROW(LEG(XRW | IB | A_NOMEM, .classes = INT))
VROW(LEG(XRW | IB | A_NOMEM, .classes = INT))
VOP(0F, 66, 74, LEG(XR, .classes = INT))	/* pcmpeqb */
VOP(0F, 66, 75, LEG(XR, .classes = INT))	/* pcmpeqw */
VOP(0F, 66, 76, LEG(XR, .classes = INT))	/* pcmpeqd */
VOP(0F, 66, 7C, LEG(XR, .classes = FP))	/* haddpd */
VOP(0F, 66, 7D, LEG(XR, .classes = FP))	/* hsubpd */
VOP(0F, 66, 7E, LEG(GW))	/* movd movq */
VOP(0F, 66, 7F, LEG(XW))	/* movdqa */
VOP(0F, 66, C2, LEG(XR | IB, .classes = FP))	/* cmppd */
VOP(0F, 66, C4, LEG(GR | IB, .classes = INT))	/* pinsrw */
VOP(0F, 66, C5, LEG(XR | A_REG_W | IB | A_NOMEM, .classes = INT))	/* pextrw */
VOP(0F, 66, C6, LEG(XR | IB))	/* shufpd */
VOP(0F, 66, D0, LEG(XR, .classes = FP))	/* addsubpd */
VOP(0F, 66, D1, LEG(XR, .classes = INT))	/* psrlw */
VOP(0F, 66, D2, LEG(XR, .classes = INT))	/* psrld */
VOP(0F, 66, D3, LEG(XR, .classes = INT))	/* psrlq */
VOP(0F, 66, D4, LEG(XR, .classes = INT))	/* paddq */
VOP(0F, 66, D5, LEG(XR, .classes = INT))	/* pmullw */
VOP(0F, 66, D6, LEG(XW))	/* movq */
VOP(0F, 66, D7, LEG(XR | A_REG_W | A_NOMEM, .classes = INT))	/* pmovmskb */
VOP(0F, 66, D8, LEG(XR, .classes = INT))	/* psubusb */
VOP(0F, 66, D9, LEG(XR, .classes = INT))	/* psubusw */
VOP(0F, 66, DA, LEG(XR, .classes = INT))	/* pminub */
VOP(0F, 66, DB, LEG(XR, .classes = INT))	/* pand */
VOP(0F, 66, DC, LEG(XR, .classes = INT))	/* paddusb */
VOP(0F, 66, DD, LEG(XR, .classes = INT))	/* paddusw */
VOP(0F, 66, DE, LEG(XR, .classes = INT))	/* pmaxub */
VOP(0F, 66, DF, LEG(XR, .classes = INT))	/* pandn */
VOP(0F, 66, E0, LEG(XR, .classes = INT))	/* pavgb */
VOP(0F, 66, E1, LEG(XR, .classes = INT))	/* psraw */
VOP(0F, 66, E2, LEG(XR, .classes = INT))	/* psrad */
VOP(0F, 66, E3, LEG(XR, .classes = INT))	/* pavgw */
VOP(0F, 66, E4, LEG(XR, .classes = INT))	/* pmulhuw */
VOP(0F, 66, E5, LEG(XR, .classes = INT))	/* pmulhw */
VOP(0F, 66, E6, LEG(XR, .classes = FP))	/* cvttpd2dq */
VOP(0F, 66, E7, LEG(GW | A_NOREG))	/* movntdq */
VOP(0F, 66, E8, LEG(XR, .classes = INT))	/* psubsb */
VOP(0F, 66, E9, LEG(XR, .classes = INT))	/* psubsw */
VOP(0F, 66, EA, LEG(XR, .classes = INT))	/* pminsw */
VOP(0F, 66, EB, LEG(XR, .classes = INT))	/* por */
VOP(0F, 66, EC, LEG(XR, .classes = INT))	/* paddsb */
VOP(0F, 66, ED, LEG(XR, .classes = INT))	/* paddsw */
VOP(0F, 66, EE, LEG(XR, .classes = INT))	/* pmaxsw */
VOP(0F, 66, EF, LEG(XR, .classes = INT))	/* pxor */
VOP(0F, 66, F1, LEG(XR, .classes = INT))	/* psllw */
VOP(0F, 66, F2, LEG(XR, .classes = INT))	/* pslld */
VOP(0F, 66, F3, LEG(XR, .classes = INT))	/* psllq */
VOP(0F, 66, F4, LEG(XR, .classes = INT))	/* pmuludq */
VOP(0F, 66, F5, LEG(XR, .classes = INT))	/* pmaddwd */
VOP(0F, 66, F6, LEG(XR, .classes = INT))	/* psadbw */
VOP(0F, 66, F7, LEG(XR | A_IMPLICIT | A_NOMEM, .classes = ST, .regs = R_DI_R))	/* maskmovdqu */
VOP(0F, 66, F8, LEG(XR, .classes = INT))	/* psubb */
VOP(0F, 66, F9, LEG(XR, .classes = INT))	/* psubw */
VOP(0F, 66, FA, LEG(XR, .classes = INT))	/* psubd */
VOP(0F, 66, FB, LEG(XR, .classes = INT))	/* psubq */
VOP(0F, 66, FC, LEG(XR, .classes = INT))	/* paddb */
VOP(0F, 66, FD, LEG(XR, .classes = INT))	/* paddw */
VOP(0F, 66, FE, LEG(XR, .classes = INT))	/* paddd */
VOP(0F, F3, 10, LEG(XR))	/* movss */
VOP(0F, F3, 11, LEG(XW))	/* movss */
VOP(0F, F3, 12, LEG(XR))	/* movsldup */
VOP(0F, F3, 16, LEG(XR))	/* movshdup */
VOP(0F, F3, 2A, LEG(GR, .classes = FP))	/* cvtsi2ss */
VOP(0F, F3, 2B, LEG(GW | A_NOREG))	/* movntss */
VOP(0F, F3, 2C, LEG(XR | A_REG_W, .classes = FP))	/* cvttss2si */
VOP(0F, F3, 2D, LEG(XR | A_REG_W, .classes = FP))	/* cvtss2si */
VOP(0F, F3, 51, LEG(XR, .classes = FP))	/* sqrtss */
VOP(0F, F3, 52, LEG(XR, .classes = FP))	/* rsqrtss */
VOP(0F, F3, 53, LEG(XR, .classes = FP))	/* rcpss */
VOP(0F, F3, 58, LEG(XR, .classes = FP))	/* addss */
VOP(0F, F3, 59, LEG(XR, .classes = FP | CLASS_MUL_FP))	/* mulss */
VOP(0F, F3, 5A, LEG(XR, .classes = FP))	/* cvtss2sd */
VOP(0F, F3, 5B, LEG(XR, .classes = FP))	/* cvttps2dq */
VOP(0F, F3, 5C, LEG(XR, .classes = FP))	/* subss */
VOP(0F, F3, 5D, LEG(XR, .classes = FP))	/* minss */
VOP(0F, F3, 5E, LEG(XR, .classes = FP | CLASS_DIV_FP))	/* divss */
VOP(0F, F3, 5F, LEG(XR, .classes = FP))	/* maxss */
VOP(0F, F3, 6F, LEG(XR))	/* movdqu */
VOP(0F, F3, 70, LEG(XR | IB, .classes = INT))	/* pshufhw */
VOP(0F, F3, 7E, LEG(XR))	/* movq */
VOP(0F, F3, 7F, LEG(XW))	/* movdqu */
VOP(0F, F3, C2, LEG(XR | IB, .classes = FP))	/* cmpss */
VOP(0F, F3, D6, LEG(XR | A_NOMEM, .classes = MMX))	/* movq2dq */
VOP(0F, F3, E6, LEG(XR, .classes = FP))	/* cvtdq2pd */
VOP(0F, F2, 10, LEG(XR))	/* movsd */
VOP(0F, F2, 11, LEG(XW))	/* movsd */
VOP(0F, F2, 12, LEG(XR))	/* movddup */
VOP(0F, F2, 2A, LEG(GR, .classes = FP))	/* cvtsi2sd */
VOP(0F, F2, 2B, LEG(GW | A_NOREG))	/* movntsd */
VOP(0F, F2, 2C, LEG(XR | A_REG_W, .classes = FP))	/* cvttsd2si */
VOP(0F, F2, 2D, LEG(XR | A_REG_W, .classes = FP))	/* cvtsd2si */
VOP(0F, F2, 51, LEG(XR, .classes = FP))	/* sqrtsd */
VOP(0F, F2, 58, LEG(XR, .classes = FP))	/* addsd */
VOP(0F, F2, 59, LEG(XR, .classes = FP | CLASS_MUL_FP))	/* mulsd */
VOP(0F, F2, 5A, LEG(XR, .classes = FP))	/* cvtsd2ss */
VOP(0F, F2, 5C, LEG(XR, .classes = FP))	/* subsd */
VOP(0F, F2, 5D, LEG(XR, .classes = FP))	/* minsd */
VOP(0F, F2, 5E, LEG(XR, .classes = FP | CLASS_DIV_FP))	/* divsd */
VOP(0F, F2, 5F, LEG(XR, .classes = FP))	/* maxsd */
VOP(0F, F2, 70, LEG(XR | IB, .classes = INT))	/* pshuflw */
VOP(0F, F2, 7C, LEG(XR, .classes = FP))	/* haddps */
VOP(0F, F2, 7D, LEG(XR, .classes = FP))	/* hsubps */
VOP(0F, F2, C2, LEG(XR | IB, .classes = FP))	/* cmpsd */
VOP(0F, F2, D0, LEG(XR, .classes = FP))	/* addsubps */
VOP(0F, F2, D6, LEG(XR | A_NOMEM, .classes = MMX))	/* movdq2q */
VOP(0F, F2, E6, LEG(XR, .classes = FP))	/* cvtpd2dq */
VOP(0F, F2, F0, LEG(GR | A_NOREG))	/* lddqu */
VOP(0F38, NP, 00, LEG(XR, .classes = INT | MMX))	/* pshufb */
VOP(0F38, NP, 01, LEG(XR, .classes = INT | MMX))	/* phaddw */
VOP(0F38, NP, 02, LEG(XR, .classes = INT | MMX))	/* phaddd */
VOP(0F38, NP, 03, LEG(XR, .classes = INT | MMX))	/* phaddsw */
VOP(0F38, NP, 04, LEG(XR, .classes = INT | MMX))	/* pmaddubsw */
VOP(0F38, NP, 05, LEG(XR, .classes = INT | MMX))	/* phsubw */
VOP(0F38, NP, 06, LEG(XR, .classes = INT | MMX))	/* phsubd */
VOP(0F38, NP, 07, LEG(XR, .classes = INT | MMX))	/* phsubsw */
VOP(0F38, NP, 08, LEG(XR, .classes = INT | MMX))	/* psignb */
VOP(0F38, NP, 09, LEG(XR, .classes = INT | MMX))	/* psignw */
VOP(0F38, NP, 0A, LEG(XR, .classes = INT | MMX))	/* psignd */
VOP(0F38, NP, 0B, LEG(XR, .classes = INT | MMX))	/* pmulhrsw */
VOP(0F38, NP, 1C, LEG(XR, .classes = INT | MMX))	/* pabsb */
VOP(0F38, NP, 1D, LEG(XR, .classes = INT | MMX))	/* pabsw */
VOP(0F38, NP, 1E, LEG(XR, .classes = INT | MMX))	/* pabsd */
VOP(0F38, NP, C8, LEG(XR, .classes = INT))	/* sha1nexte */
VOP(0F38, NP, C9, LEG(XR, .classes = INT))	/* sha1msg1 */
VOP(0F38, NP, CA, LEG(XR, .classes = INT))	/* sha1msg2 */
VOP(0F38, NP, CB, LEG(XR, .classes = INT))	/* sha256rnds2 */
VOP(0F38, NP, CC, LEG(XR, .classes = INT))	/* sha256msg1 */
VOP(0F38, NP, CD, LEG(XR, .classes = INT))	/* sha256msg2 */
VOP(0F38, NP, F0, LEAF(GR | A_REG_W | A_NOREG))	/* movbe */
VOP(0F38, NP, F1, LEAF(GW | A_REG_R | A_NOREG))	/* movbe */
VOP(0F38, NP, F6, LEG(GW | A_REG_R | A_NOREG, .special = SPECIAL_SHSTK))	/* wrssd wrssq */
VOP(0F38, NP, F9, LEG(GW | A_REG_R | A_NOREG))	/* movdiri */
VOP(0F38, 66, 00, LEG(XR, .classes = INT))	/* pshufb */
VOP(0F38, 66, 01, LEG(XR, .classes = INT))	/* phaddw */
VOP(0F38, 66, 02, LEG(XR, .classes = INT))	/* phaddd */
VOP(0F38, 66, 03, LEG(XR, .classes = INT))	/* phaddsw */
VOP(0F38, 66, 04, LEG(XR, .classes = INT))	/* pmaddubsw */
VOP(0F38, 66, 05, LEG(XR, .classes = INT))	/* phsubw */
VOP(0F38, 66, 06, LEG(XR, .classes = INT))	/* phsubd */
VOP(0F38, 66, 07, LEG(XR, .classes = INT))	/* phsubsw */
VOP(0F38, 66, 08, LEG(XR, .classes = INT))	/* psignb */
VOP(0F38, 66, 09, LEG(XR, .classes = INT))	/* psignw */
VOP(0F38, 66, 0A, LEG(XR, .classes = INT))	/* psignd */
VOP(0F38, 66, 0B, LEG(XR, .classes = INT))	/* pmulhrsw */
VOP(0F38, 66, 10, LEG(XR, .classes = INT))	/* pblendvb */
VOP(0F38, 66, 14, LEG(XR))	/* blendvps */
VOP(0F38, 66, 15, LEG(XR))	/* blendvpd */
VOP(0F38, 66, 17, LEG(XR, .classes = INT, .flags = F_ALL))	/* ptest */
VOP(0F38, 66, 1C, LEG(XR, .classes = INT))	/* pabsb */
VOP(0F38, 66, 1D, LEG(XR, .classes = INT))	/* pabsw */
VOP(0F38, 66, 1E, LEG(XR, .classes = INT))	/* pabsd */
VOP(0F38, 66, 20, LEG(XR, .classes = INT))	/* pmovsxbw */
VOP(0F38, 66, 21, LEG(XR, .classes = INT))	/* pmovsxbd */
VOP(0F38, 66, 22, LEG(XR, .classes = INT))	/* pmovsxbq */
VOP(0F38, 66, 23, LEG(XR, .classes = INT))	/* pmovsxwd */
VOP(0F38, 66, 24, LEG(XR, .classes = INT))	/* pmovsxwq */
VOP(0F38, 66, 25, LEG(XR, .classes = INT))	/* pmovsxdq */
VOP(0F38, 66, 28, LEG(XR, .classes = INT))	/* pmuldq */
VOP(0F38, 66, 29, LEG(XR, .classes = INT))	/* pcmpeqq */
VOP(0F38, 66, 2A, LEG(GR | A_NOREG))	/* movntdqa */
VOP(0F38, 66, 2B, LEG(XR, .classes = INT))	/* packusdw */
VOP(0F38, 66, 30, LEG(XR, .classes = INT))	/* pmovzxbw */
VOP(0F38, 66, 31, LEG(XR, .classes = INT))	/* pmovzxbd */
VOP(0F38, 66, 32, LEG(XR, .classes = INT))	/* pmovzxbq */
VOP(0F38, 66, 33, LEG(XR, .classes = INT))	/* pmovzxwd */
VOP(0F38, 66, 34, LEG(XR, .classes = INT))	/* pmovzxwq */
VOP(0F38, 66, 35, LEG(XR, .classes = INT))	/* pmovzxdq */
VOP(0F38, 66, 37, LEG(XR, .classes = INT))	/* pcmpgtq */
VOP(0F38, 66, 38, LEG(XR, .classes = INT))	/* pminsb */
VOP(0F38, 66, 39, LEG(XR, .classes = INT))	/* pminsd */
VOP(0F38, 66, 3A, LEG(XR, .classes = INT))	/* pminuw */
VOP(0F38, 66, 3B, LEG(XR, .classes = INT))	/* pminud */
VOP(0F38, 66, 3C, LEG(XR, .classes = INT))	/* pmaxsb */
VOP(0F38, 66, 3D, LEG(XR, .classes = INT))	/* pmaxsd */
VOP(0F38, 66, 3E, LEG(XR, .classes = INT))	/* pmaxuw */
VOP(0F38, 66, 3F, LEG(XR, .classes = INT))	/* pmaxud */
VOP(0F38, 66, 40, LEG(XR, .classes = INT))	/* pmulld */
VOP(0F38, 66, 41, LEG(XR, .classes = INT))	/* phminposuw */
VOP(0F38, 66, 80, LEG(GR | A_REG_R | A_NOREG, .flow = FLOW_FAULT, .flags = F_ALL))	/* invept */
VOP(0F38, 66, 81, LEG(GR | A_REG_R | A_NOREG, .flow = FLOW_FAULT, .flags = F_ALL))	/* invvpid */
VOP(0F38, 66, 82, LEG(GR | A_REG_R | A_NOREG, .flow = FLOW_FAULT))	/* invpcid */
VOP(0F38, 66, CF, LEG(XR, .classes = INT))	/* gf2p8mulb */
VOP(0F38, 66, DB, LEG(XR, .classes = INT))	/* aesimc */
VOP(0F38, 66, DC, LEG(XR, .classes = INT))	/* aesenc */
VOP(0F38, 66, DD, LEG(XR, .classes = INT))	/* aesenclast */
VOP(0F38, 66, DE, LEG(XR, .classes = INT))	/* aesdec */
VOP(0F38, 66, DF, LEG(XR, .classes = INT))	/* aesdeclast */
VOP(0F38, 66, F0, LEAF(GR | A_REG_W | A_NOREG))	/* movbe */
VOP(0F38, 66, F1, LEAF(GW | A_REG_R | A_NOREG))	/* movbe */
VOP(0F38, 66, F5, LEG(GW | A_REG_R | A_NOREG, .flow = FLOW_FAULT, .special = SPECIAL_SHSTK))	/* wrussd wrussq */
VOP(0F38, 66, F6, LEG(GR | A_REG_R | A_REG_W, .flags = F_CF_RW))	/* adcx */
VOP(0F38, 66, F8, LEG(GR | A_REG_R | A_IMPLICIT | A_NOREG, .classes = ST))	/* movdir64b */
VOP(0F38, F3, D8, STEP(K_REG, 1))	/* aesencwide128kl aesdecwide128kl aesencwide256kl aesdecwide256kl */
VROW(LEG(GR | A_NOREG, .classes = INT, .flags = F_ALL))
VROW(LEG(GR | A_NOREG, .classes = INT, .flags = F_ALL))
VROW(LEG(GR | A_NOREG, .classes = INT, .flags = F_ALL))
VROW(LEG(GR | A_NOREG, .classes = INT, .flags = F_ALL))
VROW(NONE)
VROW(NONE)
VROW(NONE)
VROW(NONE)
VOP(0F38, F3, DC, STEP(K_MOD, 1))	/* aesenc128kl loadiwkey */
VROW(LEG(GR, .classes = INT, .flags = F_ALL))
VROW(LEG(XR, .flow = FLOW_FAULT, .flags = F_ALL, .regs = R_EVERYTHING))
VOP(0F38, F3, DD, LEG(GR | A_NOREG, .classes = INT, .flags = F_ALL))	/* aesdec128kl */
VOP(0F38, F3, DE, LEG(GR | A_NOREG, .classes = INT, .flags = F_ALL))	/* aesenc256kl */
VOP(0F38, F3, DF, LEG(GR | A_NOREG, .classes = INT, .flags = F_ALL))	/* aesdec256kl */
VOP(0F38, F3, F6, LEG(GR | A_REG_R | A_REG_W, .flags = F_OF_RW))	/* adox */
VOP(0F38, F3, F8, LEG(GR | A_REG_R | A_IMPLICIT | A_NOREG, .classes = ST, .flags = F_ALL))	/* enqcmds */
VOP(0F38, F3, FA, LEG(GR | A_REG_W | A_NOMEM, .flags = F_ALL))	/* encodekey128 */
VOP(0F38, F3, FB, LEG(GR | A_REG_W | A_NOMEM, .flags = F_ALL))	/* encodekey256 */
VOP(0F38, F2, F0, LEAF(GR | A_REG_R | A_REG_W | A_RM8))	/* crc32 */
VOP(0F38, F2, F1, LEAF(GR | A_REG_R | A_REG_W))	/* crc32 */
VOP(0F38, F2, F8, LEG(GR | A_REG_R | A_IMPLICIT | A_NOREG, .classes = ST, .flags = F_ALL))	/* enqcmd */
VOP(0F3A, NP, 0F, LEG(XR | IB, .classes = INT | MMX))	/* palignr */
VOP(0F3A, NP, CC, LEG(XR | IB, .classes = INT))	/* sha1rnds4 */
VOP(0F3A, 66, 08, LEG(XR | IB, .classes = FP))	/* roundps */
VOP(0F3A, 66, 09, LEG(XR | IB, .classes = FP))	/* roundpd */
VOP(0F3A, 66, 0A, LEG(XR | IB, .classes = FP))	/* roundss */
VOP(0F3A, 66, 0B, LEG(XR | IB, .classes = FP))	/* roundsd */
VOP(0F3A, 66, 0C, LEG(XR | IB))	/* blendps */
VOP(0F3A, 66, 0D, LEG(XR | IB))	/* blendpd */
VOP(0F3A, 66, 0E, LEG(XR | IB, .classes = INT))	/* pblendw */
VOP(0F3A, 66, 0F, LEG(XR | IB, .classes = INT))	/* palignr */
VOP(0F3A, 66, 14, LEG(GW | IB, .classes = INT))	/* pextrb */
VOP(0F3A, 66, 15, LEG(GW | IB, .classes = INT))	/* pextrw */
VOP(0F3A, 66, 16, LEG(GW | IB, .classes = INT))	/* pextrd pextrq */
VOP(0F3A, 66, 17, LEG(GW | IB))	/* extractps */
VOP(0F3A, 66, 20, LEG(GR | IB, .classes = INT))	/* pinsrb */
VOP(0F3A, 66, 21, LEG(XR | IB))	/* insertps */
VOP(0F3A, 66, 22, LEG(GR | IB, .classes = INT))	/* pinsrd pinsrq */
VOP(0F3A, 66, 40, LEG(XR | IB, .classes = FP | CLASS_MUL_FP))	/* dpps */
VOP(0F3A, 66, 41, LEG(XR | IB, .classes = FP | CLASS_MUL_FP))	/* dppd */
VOP(0F3A, 66, 42, LEG(XR | IB, .classes = INT))	/* mpsadbw */
VOP(0F3A, 66, 44, LEG(XR | IB, .classes = INT))	/* pclmulqdq */
VOP(0F3A, 66, 60, LEG(XR | IB, .classes = INT, .flags = F_ALL, .regs = R_PCMPESTRM))	/* pcmpestrm */
VOP(0F3A, 66, 61, LEG(XR | IB, .classes = INT, .flags = F_ALL, .regs = R_PCMPESTRI))	/* pcmpestri */
VOP(0F3A, 66, 62, LEG(XR | IB, .classes = INT, .flags = F_ALL))	/* pcmpistrm */
VOP(0F3A, 66, 63, LEG(XR | IB, .classes = INT, .flags = F_ALL, .regs = R_PCMPISTRI))	/* pcmpistri */
VOP(0F3A, 66, CE, LEG(XR | IB, .classes = INT))	/* gf2p8affineqb */
VOP(0F3A, 66, CF, LEG(XR | IB, .classes = INT))	/* gf2p8affineinvqb */
VOP(0F3A, 66, DF, LEG(XR | IB, .classes = INT))	/* aeskeygenassist */
VOP(0F3A, F3, F0, LEG(A_MODRM | A_RM_X | A_NOMEM | IB, .flow = FLOW_FAULT, .regs = R_A_R, .check = CHECK_C0))	/* hreset */
VOP(V0F, NP, 10, VEC(XR, WIG | L01))	/* vmovups */
VOP(V0F, NP, 11, VEC(XW, WIG | L01))	/* vmovups */
VOP(V0F, NP, 12, VEC(XR, WIG | C_L0 | C_VV))	/* vmovlps vmovhlps */
VOP(V0F, NP, 13, VEC(GW | A_NOREG, WIG | C_L0))	/* vmovlps */
VOP(V0F, NP, 14, VEC(XR, WIG | L01 | C_VV))	/* vunpcklps */
VOP(V0F, NP, 15, VEC(XR, WIG | L01 | C_VV))	/* vunpckhps */
VOP(V0F, NP, 16, VEC(XR, WIG | C_L0 | C_VV))	/* vmovhps vmovlhps */
VOP(V0F, NP, 17, VEC(GW | A_NOREG, WIG | C_L0))	/* vmovhps */
VOP(V0F, NP, 28, VEC(XR, WIG | L01))	/* vmovaps */
VOP(V0F, NP, 29, VEC(XW, WIG | L01))	/* vmovaps */
VOP(V0F, NP, 2B, VEC(GW | A_NOREG, WIG | L01))	/* vmovntps */
VOP(V0F, NP, 2E, VEC(XR, WIG | L01, .classes = FP, .flags = F_ALL))	/* vucomiss */
VOP(V0F, NP, 2F, VEC(XR, WIG | L01, .classes = FP, .flags = F_ALL))	/* vcomiss */
VOP(V0F, NP, 41, VEC(XR | A_NOMEM, WIG | C_L1 | C_VV | C_VVK | C_REGK))	/* kandw kandq */
VOP(V0F, NP, 42, VEC(XR | A_NOMEM, WIG | C_L1 | C_VV | C_VVK | C_REGK))	/* kandnw kandnq */
VOP(V0F, NP, 44, VEC(XR | A_NOMEM, WIG | C_L0 | C_REGK))	/* knotw knotq */
VOP(V0F, NP, 45, VEC(XR | A_NOMEM, WIG | C_L1 | C_VV | C_VVK | C_REGK))	/* korw korq */
VOP(V0F, NP, 46, VEC(XR | A_NOMEM, WIG | C_L1 | C_VV | C_VVK | C_REGK))	/* kxnorw kxnorq */
VOP(V0F, NP, 47, VEC(XR | A_NOMEM, WIG | C_L1 | C_VV | C_VVK | C_REGK))	/* kxorw kxorq */
VOP(V0F, NP, 4A, VEC(XR | A_NOMEM, WIG | C_L1 | C_VV | C_VVK | C_REGK))	/* kaddw kaddq */
VOP(V0F, NP, 4B, VEC(XR | A_NOMEM, WIG | C_L1 | C_VV | C_VVK | C_REGK))	/* kunpckwd kunpckdq */
VOP(V0F, NP, 50, VEC(XR | A_REG_W | A_NOMEM, WIG | L01))	/* vmovmskps */
VOP(V0F, NP, 51, VEC(XR, WIG | L01, .classes = FP))	/* vsqrtps */
VOP(V0F, NP, 52, VEC(XR, WIG | L01, .classes = FP))	/* vrsqrtps */
VOP(V0F, NP, 53, VEC(XR, WIG | L01, .classes = FP))	/* vrcpps */
VOP(V0F, NP, 54, VEC(XR, WIG | L01 | C_VV))	/* vandps */
VOP(V0F, NP, 55, VEC(XR, WIG | L01 | C_VV))	/* vandnps */
VOP(V0F, NP, 56, VEC(XR, WIG | L01 | C_VV))	/* vorps */
VOP(V0F, NP, 57, VEC(XR, WIG | L01 | C_VV))	/* vxorps */
VOP(V0F, NP, 58, VEC(XR, WIG | L01 | C_VV, .classes = FP))	/* vaddps */
VOP(V0F, NP, 59, VEC(XR, WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vmulps */
VOP(V0F, NP, 5A, VEC(XR, WIG | L01, .classes = FP))	/* vcvtps2pd */
VOP(V0F, NP, 5B, VEC(XR, WIG | L01, .classes = FP))	/* vcvtdq2ps */
VOP(V0F, NP, 5C, VEC(XR, WIG | L01 | C_VV, .classes = FP))	/* vsubps */
VOP(V0F, NP, 5D, VEC(XR, WIG | L01 | C_VV, .classes = FP))	/* vminps */
VOP(V0F, NP, 5E, VEC(XR, WIG | L01 | C_VV, .classes = FP | CLASS_DIV_FP))	/* vdivps */
VOP(V0F, NP, 5F, VEC(XR, WIG | L01 | C_VV, .classes = FP))	/* vmaxps */
VOP(V0F, NP, 77, VEC(0, WIG | L01))	/* vzeroupper vzeroall */
VOP(V0F, NP, 90, VEC(XR, WIG | C_L0 | C_REGK))	/* kmovw kmovq */
VOP(V0F, NP, 91, VEC(GW | A_NOREG, WIG | C_L0 | C_REGK))	/* kmovw kmovq */
VOP(V0F, NP, 92, VEC(GR | A_NOMEM, C_W0 | C_L0 | C_REGK))	/* kmovw */
VOP(V0F, NP, 93, VEC(XR | A_REG_W | A_NOMEM, C_W0 | C_L0))	/* kmovw */
VOP(V0F, NP, 98, VEC(XR | A_NOMEM, WIG | C_L0 | C_REGK, .flags = F_ALL))	/* kortestw kortestq */
VOP(V0F, NP, 99, VEC(XR | A_NOMEM, WIG | C_L0 | C_REGK, .flags = F_ALL))	/* ktestw ktestq */
VOP(V0F, NP, AE, STEP(K_REG, 1))	/* vldmxcsr vstmxcsr */
VROW(NONE)
VROW(NONE)
VROW(VEC(GR | A_NOREG, WIG | C_L0))
VROW(VEC(GW | A_NOREG, WIG | C_L0))
VROW(NONE)
VROW(NONE)
VROW(NONE)
VROW(NONE)
VOP(V0F, NP, C2, VEC(XR | IB, WIG | L01 | C_VV, .classes = FP))	/* vcmpps */
VOP(V0F, NP, C6, VEC(XR | IB, WIG | L01 | C_VV))	/* vshufps */
VOP(V0F, 66, 10, VEC(XR, WIG | L01))	/* vmovupd */
VOP(V0F, 66, 11, VEC(XW, WIG | L01))	/* vmovupd */
VOP(V0F, 66, 12, VEC(GR | A_NOREG, WIG | C_L0 | C_VV))	/* vmovlpd */
VOP(V0F, 66, 13, VEC(GW | A_NOREG, WIG | C_L0))	/* vmovlpd */
VOP(V0F, 66, 14, VEC(XR, WIG | L01 | C_VV))	/* vunpcklpd */
VOP(V0F, 66, 15, VEC(XR, WIG | L01 | C_VV))	/* vunpckhpd */
VOP(V0F, 66, 16, VEC(GR | A_NOREG, WIG | C_L0 | C_VV))	/* vmovhpd */
VOP(V0F, 66, 17, VEC(GW | A_NOREG, WIG | C_L0))	/* vmovhpd */
VOP(V0F, 66, 28, VEC(XR, WIG | L01))	/* vmovapd */
VOP(V0F, 66, 29, VEC(XW, WIG | L01))	/* vmovapd */
VOP(V0F, 66, 2B, VEC(GW | A_NOREG, WIG | L01))	/* vmovntpd */
VOP(V0F, 66, 2E, VEC(XR, WIG | L01, .classes = FP, .flags = F_ALL))	/* vucomisd */
VOP(V0F, 66, 2F, VEC(XR, WIG | L01, .classes = FP, .flags = F_ALL))	/* vcomisd */
VOP(V0F, 66, 41, VEC(XR | A_NOMEM, WIG | C_L1 | C_VV | C_VVK | C_REGK))	/* kandb kandd */
VOP(V0F, 66, 42, VEC(XR | A_NOMEM, WIG | C_L1 | C_VV | C_VVK | C_REGK))	/* kandnb kandnd */
VOP(V0F, 66, 44, VEC(XR | A_NOMEM, WIG | C_L0 | C_REGK))	/* knotb knotd */
VOP(V0F, 66, 45, VEC(XR | A_NOMEM, WIG | C_L1 | C_VV | C_VVK | C_REGK))	/* korb kord */
VOP(V0F, 66, 46, VEC(XR | A_NOMEM, WIG | C_L1 | C_VV | C_VVK | C_REGK))	/* kxnorb kxnord */
VOP(V0F, 66, 47, VEC(XR | A_NOMEM, WIG | C_L1 | C_VV | C_VVK | C_REGK))	/* kxorb kxord */
VOP(V0F, 66, 4A, VEC(XR | A_NOMEM, WIG | C_L1 | C_VV | C_VVK | C_REGK))	/* kaddb kaddd */
VOP(V0F, 66, 4B, VEC(XR | A_NOMEM, C_W0 | C_L1 | C_VV | C_VVK | C_REGK))	/* kunpckbw */
VOP(V0F, 66, 50, VEC(XR | A_REG_W | A_NOMEM, WIG | L01))	/* vmovmskpd */
VOP(V0F, 66, 51, VEC(XR, WIG | L01, .classes = FP))	/* vsqrtpd */
VOP(V0F, 66, 54, VEC(XR, WIG | L01 | C_VV))	/* vandpd */
VOP(V0F, 66, 55, VEC(XR, WIG | L01 | C_VV))	/* vandnpd */
VOP(V0F, 66, 56, VEC(XR, WIG | L01 | C_VV))	/* vorpd */
VOP(V0F, 66, 57, VEC(XR, WIG | L01 | C_VV))	/* vxorpd */
VOP(V0F, 66, 58, VEC(XR, WIG | L01 | C_VV, .classes = FP))	/* vaddpd */
VOP(V0F, 66, 59, VEC(XR, WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vmulpd */
VOP(V0F, 66, 5A, VEC(XR, WIG | L01, .classes = FP))	/* vcvtpd2ps */
VOP(V0F, 66, 5B, VEC(XR, WIG | L01, .classes = FP))	/* vcvtps2dq */
VOP(V0F, 66, 5C, VEC(XR, WIG | L01 | C_VV, .classes = FP))	/* vsubpd */
VOP(V0F, 66, 5D, VEC(XR, WIG | L01 | C_VV, .classes = FP))	/* vminpd */
VOP(V0F, 66, 5E, VEC(XR, WIG | L01 | C_VV, .classes = FP | CLASS_DIV_FP))	/* vdivpd */
VOP(V0F, 66, 5F, VEC(XR, WIG | L01 | C_VV, .classes = FP))	/* vmaxpd */
VOP(V0F, 66, 60, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpunpcklbw */
VOP(V0F, 66, 61, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpunpcklwd */
VOP(V0F, 66, 62, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpunpckldq */
VOP(V0F, 66, 63, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpacksswb */
VOP(V0F, 66, 64, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpcmpgtb */
VOP(V0F, 66, 65, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpcmpgtw */
VOP(V0F, 66, 66, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpcmpgtd */
VOP(V0F, 66, 67, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpackuswb */
VOP(V0F, 66, 68, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpunpckhbw */
VOP(V0F, 66, 69, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpunpckhwd */
VOP(V0F, 66, 6A, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpunpckhdq */
VOP(V0F, 66, 6B, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpackssdw */
VOP(V0F, 66, 6C, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpunpcklqdq */
VOP(V0F, 66, 6D, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpunpckhqdq */
VOP(V0F, 66, 6E, VEC(GR, WIG | C_L0))	/* vmovd vmovq */
VOP(V0F, 66, 6F, VEC(XR, WIG | L01))	/* vmovdqa */
VOP(V0F, 66, 70, VEC(XR | IB, WIG | L01, .classes = INT))	/* vpshufd */
VOP(V0F, 66, 71, STEP(K_REG, 1))	/* vpsrlw vpsraw vpsllw */
VROW(NONE)
VROW(NONE)
VROW(VEC(XR | IB | A_NOMEM, WIG | L01 | C_VV, .classes = INT))
VROW(NONE)
VROW(VEC(XR | IB | A_NOMEM, WIG | L01 | C_VV, .classes = INT))
VROW(NONE)
VROW(VEC(XR | IB | A_NOMEM, WIG | L01 | C_VV, .classes = INT))
VROW(NONE)
VOP(V0F, 66, 72, STEP(K_REG, 1))	/* vpsrld vpsrad vpslld */
VROW(NONE)
VROW(NONE)
VROW(VEC(XR | IB | A_NOMEM, WIG | L01 | C_VV, .classes = INT))
VROW(NONE)
VROW(VEC(XR | IB | A_NOMEM, WIG | L01 | C_VV, .classes = INT))
VROW(NONE)
VROW(VEC(XR | IB | A_NOMEM, WIG | L01 | C_VV, .classes = INT))
VROW(NONE)
VOP(V0F, 66, 73, STEP(K_REG, 1))	/* vpsrlq vpsrldq vpsllq vpslldq */
VROW(NONE)
VROW(NONE)
VROW(VEC(XR | IB | A_NOMEM, WIG | L01 | C_VV, .classes = INT))
VROW(VEC(XR | IB | A_NOMEM, WIG | L01 | C_VV, .classes = INT))
VROW(NONE)
VROW(NONE)
VROW(VEC(XR | IB | A_NOMEM, WIG | L01 | C_VV, .classes = INT))
VROW(VEC(XR | IB | A_NOMEM, WIG | L01 | C_VV, .classes = INT))
VOP(V0F, 66, 74, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpcmpeqb */
VOP(V0F, 66, 75, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpcmpeqw */
VOP(V0F, 66, 76, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpcmpeqd */
VOP(V0F, 66, 7C, VEC(XR, WIG | L01 | C_VV, .classes = FP))	/* vhaddpd */
VOP(V0F, 66, 7D, VEC(XR, WIG | L01 | C_VV, .classes = FP))	/* vhsubpd */
VOP(V0F, 66, 7E, VEC(GW, WIG | C_L0))	/* vmovd vmovq */
VOP(V0F, 66, 7F, VEC(XW, WIG | L01))	/* vmovdqa */
VOP(V0F, 66, 90, VEC(XR, WIG | C_L0 | C_REGK))	/* kmovb kmovd */
VOP(V0F, 66, 91, VEC(GW | A_NOREG, WIG | C_L0 | C_REGK))	/* kmovb kmovd */
VOP(V0F, 66, 92, VEC(GR | A_NOMEM, C_W0 | C_L0 | C_REGK))	/* kmovb */
VOP(V0F, 66, 93, VEC(XR | A_REG_W | A_NOMEM, C_W0 | C_L0))	/* kmovb */
VOP(V0F, 66, 98, VEC(XR | A_NOMEM, WIG | C_L0 | C_REGK, .flags = F_ALL))	/* kortestb kortestd */
VOP(V0F, 66, 99, VEC(XR | A_NOMEM, WIG | C_L0 | C_REGK, .flags = F_ALL))	/* ktestb ktestd */
VOP(V0F, 66, C2, VEC(XR | IB, WIG | L01 | C_VV, .classes = FP))	/* vcmppd */
VOP(V0F, 66, C4, VEC(GR | IB, WIG | C_L0 | C_VV, .classes = INT))	/* vpinsrw */
VOP(V0F, 66, C5, VEC(XR | A_REG_W | IB | A_NOMEM, WIG | C_L0, .classes = INT))	/* vpextrw */
VOP(V0F, 66, C6, VEC(XR | IB, WIG | L01 | C_VV))	/* vshufpd */
VOP(V0F, 66, D0, VEC(XR, WIG | L01 | C_VV, .classes = FP))	/* vaddsubpd */
VOP(V0F, 66, D1, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpsrlw */
VOP(V0F, 66, D2, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpsrld */
VOP(V0F, 66, D3, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpsrlq */
VOP(V0F, 66, D4, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpaddq */
VOP(V0F, 66, D5, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpmullw */
VOP(V0F, 66, D6, VEC(XW, WIG | C_L0))	/* vmovq */
VOP(V0F, 66, D7, VEC(XR | A_REG_W | A_NOMEM, WIG | L01, .classes = INT))	/* vpmovmskb */
VOP(V0F, 66, D8, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpsubusb */
VOP(V0F, 66, D9, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpsubusw */
VOP(V0F, 66, DA, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpminub */
VOP(V0F, 66, DB, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpand */
VOP(V0F, 66, DC, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpaddusb */
VOP(V0F, 66, DD, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpaddusw */
VOP(V0F, 66, DE, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpmaxub */
VOP(V0F, 66, DF, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpandn */
VOP(V0F, 66, E0, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpavgb */
VOP(V0F, 66, E1, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpsraw */
VOP(V0F, 66, E2, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpsrad */
VOP(V0F, 66, E3, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpavgw */
VOP(V0F, 66, E4, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpmulhuw */
VOP(V0F, 66, E5, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpmulhw */
VOP(V0F, 66, E6, VEC(XR, WIG | L01, .classes = FP))	/* vcvttpd2dq */
VOP(V0F, 66, E7, VEC(GW | A_NOREG, WIG | L01))	/* vmovntdq */
VOP(V0F, 66, E8, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpsubsb */
VOP(V0F, 66, E9, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpsubsw */
VOP(V0F, 66, EA, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpminsw */
VOP(V0F, 66, EB, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpor */
VOP(V0F, 66, EC, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpaddsb */
VOP(V0F, 66, ED, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpaddsw */
VOP(V0F, 66, EE, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpmaxsw */
VOP(V0F, 66, EF, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpxor */
VOP(V0F, 66, F1, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpsllw */
VOP(V0F, 66, F2, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpslld */
VOP(V0F, 66, F3, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpsllq */
VOP(V0F, 66, F4, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpmuludq */
VOP(V0F, 66, F5, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpmaddwd */
VOP(V0F, 66, F6, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpsadbw */
VOP(V0F, 66, F7, VEC(XR | A_IMPLICIT | A_NOMEM, WIG | C_L0, .classes = ST, .regs = R_DI_R))	/* vmaskmovdqu */
VOP(V0F, 66, F8, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpsubb */
VOP(V0F, 66, F9, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpsubw */
VOP(V0F, 66, FA, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpsubd */
VOP(V0F, 66, FB, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpsubq */
VOP(V0F, 66, FC, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpaddb */
VOP(V0F, 66, FD, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpaddw */
VOP(V0F, 66, FE, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpaddd */
VOP(V0F, F3, 10, STEP(K_MOD, 1))	/* vmovss */
VROW(VEC(GR, WIG | L01))
VROW(VEC(XR, WIG | L01 | C_VV))
VOP(V0F, F3, 11, STEP(K_MOD, 1))	/* vmovss */
VROW(VEC(GW, WIG | L01))
VROW(VEC(XW, WIG | L01 | C_VV))
VOP(V0F, F3, 12, VEC(XR, WIG | L01))	/* vmovsldup */
VOP(V0F, F3, 16, VEC(XR, WIG | L01))	/* vmovshdup */
VOP(V0F, F3, 2A, VEC(GR, WIG | L01 | C_VV, .classes = FP))	/* vcvtsi2ss */
VOP(V0F, F3, 2C, VEC(XR | A_REG_W, WIG | L01, .classes = FP))	/* vcvttss2si */
VOP(V0F, F3, 2D, VEC(XR | A_REG_W, WIG | L01, .classes = FP))	/* vcvtss2si */
VOP(V0F, F3, 51, VEC(XR, WIG | L01 | C_VV, .classes = FP))	/* vsqrtss */
VOP(V0F, F3, 52, VEC(XR, WIG | L01 | C_VV, .classes = FP))	/* vrsqrtss */
VOP(V0F, F3, 53, VEC(XR, WIG | L01 | C_VV, .classes = FP))	/* vrcpss */
VOP(V0F, F3, 58, VEC(XR, WIG | L01 | C_VV, .classes = FP))	/* vaddss */
VOP(V0F, F3, 59, VEC(XR, WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vmulss */
VOP(V0F, F3, 5A, VEC(XR, WIG | L01 | C_VV, .classes = FP))	/* vcvtss2sd */
VOP(V0F, F3, 5B, VEC(XR, WIG | L01, .classes = FP))	/* vcvttps2dq */
VOP(V0F, F3, 5C, VEC(XR, WIG | L01 | C_VV, .classes = FP))	/* vsubss */
VOP(V0F, F3, 5D, VEC(XR, WIG | L01 | C_VV, .classes = FP))	/* vminss */
VOP(V0F, F3, 5E, VEC(XR, WIG | L01 | C_VV, .classes = FP | CLASS_DIV_FP))	/* vdivss */
VOP(V0F, F3, 5F, VEC(XR, WIG | L01 | C_VV, .classes = FP))	/* vmaxss */
VOP(V0F, F3, 6F, VEC(XR, WIG | L01))	/* vmovdqu */
VOP(V0F, F3, 70, VEC(XR | IB, WIG | L01, .classes = INT))	/* vpshufhw */
VOP(V0F, F3, 7E, VEC(XR, WIG | C_L0))	/* vmovq */
VOP(V0F, F3, 7F, VEC(XW, WIG | L01))	/* vmovdqu */
VOP(V0F, F3, C2, VEC(XR | IB, WIG | L01 | C_VV, .classes = FP))	/* vcmpss */
VOP(V0F, F3, E6, VEC(XR, WIG | L01, .classes = FP))	/* vcvtdq2pd */
VOP(V0F, F2, 10, STEP(K_MOD, 1))	/* vmovsd */
VROW(VEC(GR, WIG | L01))
VROW(VEC(XR, WIG | L01 | C_VV))
VOP(V0F, F2, 11, STEP(K_MOD, 1))	/* vmovsd */
VROW(VEC(GW, WIG | L01))
VROW(VEC(XW, WIG | L01 | C_VV))
VOP(V0F, F2, 12, VEC(XR, WIG | L01))	/* vmovddup */
VOP(V0F, F2, 2A, VEC(GR, WIG | L01 | C_VV, .classes = FP))	/* vcvtsi2sd */
VOP(V0F, F2, 2C, VEC(XR | A_REG_W, WIG | L01, .classes = FP))	/* vcvttsd2si */
VOP(V0F, F2, 2D, VEC(XR | A_REG_W, WIG | L01, .classes = FP))	/* vcvtsd2si */
VOP(V0F, F2, 51, VEC(XR, WIG | L01 | C_VV, .classes = FP))	/* vsqrtsd */
VOP(V0F, F2, 58, VEC(XR, WIG | L01 | C_VV, .classes = FP))	/* vaddsd */
VOP(V0F, F2, 59, VEC(XR, WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vmulsd */
VOP(V0F, F2, 5A, VEC(XR, WIG | L01 | C_VV, .classes = FP))	/* vcvtsd2ss */
VOP(V0F, F2, 5C, VEC(XR, WIG | L01 | C_VV, .classes = FP))	/* vsubsd */
VOP(V0F, F2, 5D, VEC(XR, WIG | L01 | C_VV, .classes = FP))	/* vminsd */
VOP(V0F, F2, 5E, VEC(XR, WIG | L01 | C_VV, .classes = FP | CLASS_DIV_FP))	/* vdivsd */
VOP(V0F, F2, 5F, VEC(XR, WIG | L01 | C_VV, .classes = FP))	/* vmaxsd */
VOP(V0F, F2, 70, VEC(XR | IB, WIG | L01, .classes = INT))	/* vpshuflw */
VOP(V0F, F2, 7C, VEC(XR, WIG | L01 | C_VV, .classes = FP))	/* vhaddps */
VOP(V0F, F2, 7D, VEC(XR, WIG | L01 | C_VV, .classes = FP))	/* vhsubps */
VOP(V0F, F2, 92, VEC(GR | A_NOMEM, WIG | C_L0 | C_REGK))	/* kmovd kmovq */
VOP(V0F, F2, 93, VEC(XR | A_REG_W | A_NOMEM, WIG | C_L0))	/* kmovd kmovq */
VOP(V0F, F2, C2, VEC(XR | IB, WIG | L01 | C_VV, .classes = FP))	/* vcmpsd */
VOP(V0F, F2, D0, VEC(XR, WIG | L01 | C_VV, .classes = FP))	/* vaddsubps */
VOP(V0F, F2, E6, VEC(XR, WIG | L01, .classes = FP))	/* vcvtpd2dq */
VOP(V0F, F2, F0, VEC(GR | A_NOREG, WIG | L01))	/* vlddqu */
VOP(V0F38, NP, 49, STEP(K_MOD, 1))	/* ldtilecfg tilerelease */
VROW(VEC(GR, C_W0 | C_L0, .check = CHECK_REG0))
VROW(VEC(A_MODRM | A_RM_X, C_W0 | C_L0, .check = CHECK_C0))
VOP(V0F38, NP, 5E, VEC(XR | A_NOMEM, C_W0 | C_L0 | C_VV | C_VVK | C_REGK | C_DISTINCT))	/* tdpbuud */
VOP(V0F38, NP, F2, VEC(GR | A_REG_W | A_VV_R, WIG | C_L0 | C_VV, .flags = F_BITS))	/* andn */
VOP(V0F38, NP, F3, STEP(K_REG, 1))	/* blsr blsmsk blsi */
VROW(NONE)
VROW(VEC(GR | A_VV_W, WIG | C_L0 | C_VV, .flags = F_BITS))
VROW(VEC(GR | A_VV_W, WIG | C_L0 | C_VV, .flags = F_BITS))
VROW(VEC(GR | A_VV_W, WIG | C_L0 | C_VV, .flags = F_BITS))
VROW(NONE)
VROW(NONE)
VROW(NONE)
VROW(NONE)
VOP(V0F38, NP, F5, VEC(GR | A_REG_W | A_VV_R, WIG | C_L0 | C_VV, .flags = F_BITS))	/* bzhi */
VOP(V0F38, NP, F7, VEC(GR | A_REG_W | A_VV_R, WIG | C_L0 | C_VV, .flags = F_ZF_UNDEF))	/* bextr */
VOP(V0F38, 66, 00, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpshufb */
VOP(V0F38, 66, 01, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vphaddw */
VOP(V0F38, 66, 02, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vphaddd */
VOP(V0F38, 66, 03, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vphaddsw */
VOP(V0F38, 66, 04, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpmaddubsw */
VOP(V0F38, 66, 05, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vphsubw */
VOP(V0F38, 66, 06, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vphsubd */
VOP(V0F38, 66, 07, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vphsubsw */
VOP(V0F38, 66, 08, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpsignb */
VOP(V0F38, 66, 09, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpsignw */
VOP(V0F38, 66, 0A, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpsignd */
VOP(V0F38, 66, 0B, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpmulhrsw */
VOP(V0F38, 66, 0C, VEC(XR, C_W0 | L01 | C_VV, .classes = INT))	/* vpermilps */
VOP(V0F38, 66, 0D, VEC(XR, C_W0 | L01 | C_VV, .classes = INT))	/* vpermilpd */
VOP(V0F38, 66, 0E, VEC(XR, C_W0 | L01, .flags = F_ALL))	/* vtestps */
VOP(V0F38, 66, 0F, VEC(XR, C_W0 | L01, .flags = F_ALL))	/* vtestpd */
VOP(V0F38, 66, 13, VEC(XR, C_W0 | L01, .classes = FP))	/* vcvtph2ps */
VOP(V0F38, 66, 16, VEC(XR, C_W0 | C_L1 | C_VV, .classes = INT))	/* vpermps */
VOP(V0F38, 66, 17, VEC(XR, WIG | L01, .classes = INT, .flags = F_ALL))	/* vptest */
VOP(V0F38, 66, 18, VEC(XR, C_W0 | L01))	/* vbroadcastss */
VOP(V0F38, 66, 19, VEC(XR, C_W0 | C_L1))	/* vbroadcastsd */
VOP(V0F38, 66, 1A, VEC(GR | A_NOREG, C_W0 | C_L1))	/* vbroadcastf128 */
VOP(V0F38, 66, 1C, VEC(XR, WIG | L01, .classes = INT))	/* vpabsb */
VOP(V0F38, 66, 1D, VEC(XR, WIG | L01, .classes = INT))	/* vpabsw */
VOP(V0F38, 66, 1E, VEC(XR, WIG | L01, .classes = INT))	/* vpabsd */
VOP(V0F38, 66, 20, VEC(XR, WIG | L01, .classes = INT))	/* vpmovsxbw */
VOP(V0F38, 66, 21, VEC(XR, WIG | L01, .classes = INT))	/* vpmovsxbd */
VOP(V0F38, 66, 22, VEC(XR, WIG | L01, .classes = INT))	/* vpmovsxbq */
VOP(V0F38, 66, 23, VEC(XR, WIG | L01, .classes = INT))	/* vpmovsxwd */
VOP(V0F38, 66, 24, VEC(XR, WIG | L01, .classes = INT))	/* vpmovsxwq */
VOP(V0F38, 66, 25, VEC(XR, WIG | L01, .classes = INT))	/* vpmovsxdq */
VOP(V0F38, 66, 28, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpmuldq */
VOP(V0F38, 66, 29, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpcmpeqq */
VOP(V0F38, 66, 2A, VEC(GR | A_NOREG, WIG | L01))	/* vmovntdqa */
VOP(V0F38, 66, 2B, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpackusdw */
VOP(V0F38, 66, 2C, VEC(GR | A_NOREG, C_W0 | L01 | C_VV))	/* vmaskmovps */
VOP(V0F38, 66, 2D, VEC(GR | A_NOREG, C_W0 | L01 | C_VV))	/* vmaskmovpd */
VOP(V0F38, 66, 2E, VEC(GW | A_NOREG, C_W0 | L01 | C_VV))	/* vmaskmovps */
VOP(V0F38, 66, 2F, VEC(GW | A_NOREG, C_W0 | L01 | C_VV))	/* vmaskmovpd */
VOP(V0F38, 66, 30, VEC(XR, WIG | L01, .classes = INT))	/* vpmovzxbw */
VOP(V0F38, 66, 31, VEC(XR, WIG | L01, .classes = INT))	/* vpmovzxbd */
VOP(V0F38, 66, 32, VEC(XR, WIG | L01, .classes = INT))	/* vpmovzxbq */
VOP(V0F38, 66, 33, VEC(XR, WIG | L01, .classes = INT))	/* vpmovzxwd */
VOP(V0F38, 66, 34, VEC(XR, WIG | L01, .classes = INT))	/* vpmovzxwq */
VOP(V0F38, 66, 35, VEC(XR, WIG | L01, .classes = INT))	/* vpmovzxdq */
VOP(V0F38, 66, 36, VEC(XR, C_W0 | C_L1 | C_VV, .classes = INT))	/* vpermd */
VOP(V0F38, 66, 37, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpcmpgtq */
VOP(V0F38, 66, 38, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpminsb */
VOP(V0F38, 66, 39, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpminsd */
VOP(V0F38, 66, 3A, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpminuw */
VOP(V0F38, 66, 3B, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpminud */
VOP(V0F38, 66, 3C, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpmaxsb */
VOP(V0F38, 66, 3D, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpmaxsd */
VOP(V0F38, 66, 3E, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpmaxuw */
VOP(V0F38, 66, 3F, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpmaxud */
VOP(V0F38, 66, 40, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpmulld */
VOP(V0F38, 66, 41, VEC(XR, WIG | C_L0, .classes = INT))	/* vphminposuw */
VOP(V0F38, 66, 45, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpsrlvd vpsrlvq */
VOP(V0F38, 66, 46, VEC(XR, C_W0 | L01 | C_VV, .classes = INT))	/* vpsravd */
VOP(V0F38, 66, 47, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vpsllvd vpsllvq */
VOP(V0F38, 66, 49, VEC(GW | A_NOREG, C_W0 | C_L0, .check = CHECK_REG0))	/* sttilecfg */
VOP(V0F38, 66, 4B, VEC(GR | A_SIB | A_NOREG, C_W0 | C_L0 | C_REGK))	/* tileloaddt1 */
VOP(V0F38, 66, 50, VEC(XR, C_W0 | L01 | C_VV, .classes = INT))	/* vpdpbusd */
VOP(V0F38, 66, 51, VEC(XR, C_W0 | L01 | C_VV, .classes = INT))	/* vpdpbusds */
VOP(V0F38, 66, 52, VEC(XR, C_W0 | L01 | C_VV, .classes = INT))	/* vpdpwssd */
VOP(V0F38, 66, 53, VEC(XR, C_W0 | L01 | C_VV, .classes = INT))	/* vpdpwssds */
VOP(V0F38, 66, 58, VEC(XR, C_W0 | L01, .classes = INT))	/* vpbroadcastd */
VOP(V0F38, 66, 59, VEC(XR, C_W0 | L01, .classes = INT))	/* vpbroadcastq */
VOP(V0F38, 66, 5A, VEC(GR | A_NOREG, C_W0 | C_L1))	/* vbroadcasti128 */
VOP(V0F38, 66, 5E, VEC(XR | A_NOMEM, C_W0 | C_L0 | C_VV | C_VVK | C_REGK | C_DISTINCT))	/* tdpbusd */
VOP(V0F38, 66, 78, VEC(XR, C_W0 | L01, .classes = INT))	/* vpbroadcastb */
VOP(V0F38, 66, 79, VEC(XR, C_W0 | L01, .classes = INT))	/* vpbroadcastw */
VOP(V0F38, 66, 8C, VEC(GR | A_NOREG, WIG | L01 | C_VV))	/* vpmaskmovd vpmaskmovq */
VOP(V0F38, 66, 8E, VEC(GW | A_NOREG, WIG | L01 | C_VV))	/* vpmaskmovd vpmaskmovq */
VOP(V0F38, 66, 90, VEC(GR | A_NOREG, WIG | L01 | C_VV | C_VSIB | C_DISTINCT))	/* vpgatherdd vpgatherdq */
VOP(V0F38, 66, 91, VEC(GR | A_NOREG, WIG | L01 | C_VV | C_VSIB | C_DISTINCT))	/* vpgatherqd vpgatherqq */
VOP(V0F38, 66, 92, VEC(GR | A_NOREG, WIG | L01 | C_VV | C_VSIB | C_DISTINCT))	/* vgatherdps vgatherdpd */
VOP(V0F38, 66, 93, VEC(GR | A_NOREG, WIG | L01 | C_VV | C_VSIB | C_DISTINCT))	/* vgatherqps vgatherqpd */
VOP(V0F38, 66, 96, VEC(XR, WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfmaddsub132ps vfmaddsub132pd */
VOP(V0F38, 66, 97, VEC(XR, WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfmsubadd132ps vfmsubadd132pd */
VOP(V0F38, 66, 98, VEC(XR, WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfmadd132ps vfmadd132pd */
VOP(V0F38, 66, 99, VEC(XR, WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfmadd132ss vfmadd132sd */
VOP(V0F38, 66, 9A, VEC(XR, WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfmsub132ps vfmsub132pd */
VOP(V0F38, 66, 9B, VEC(XR, WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfmsub132ss vfmsub132sd */
VOP(V0F38, 66, 9C, VEC(XR, WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfnmadd132ps vfnmadd132pd */
VOP(V0F38, 66, 9D, VEC(XR, WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfnmadd132ss vfnmadd132sd */
VOP(V0F38, 66, 9E, VEC(XR, WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfnmsub132ps vfnmsub132pd */
VOP(V0F38, 66, 9F, VEC(XR, WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfnmsub132ss vfnmsub132sd */
VOP(V0F38, 66, A6, VEC(XR, WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfmaddsub213ps vfmaddsub213pd */
VOP(V0F38, 66, A7, VEC(XR, WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfmsubadd213ps vfmsubadd213pd */
VOP(V0F38, 66, A8, VEC(XR, WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfmadd213ps vfmadd213pd */
VOP(V0F38, 66, A9, VEC(XR, WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfmadd213ss vfmadd213sd */
VOP(V0F38, 66, AA, VEC(XR, WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfmsub213ps vfmsub213pd */
VOP(V0F38, 66, AB, VEC(XR, WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfmsub213ss vfmsub213sd */
VOP(V0F38, 66, AC, VEC(XR, WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfnmadd213ps vfnmadd213pd */
VOP(V0F38, 66, AD, VEC(XR, WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfnmadd213ss vfnmadd213sd */
VOP(V0F38, 66, AE, VEC(XR, WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfnmsub213ps vfnmsub213pd */
VOP(V0F38, 66, AF, VEC(XR, WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfnmsub213ss vfnmsub213sd */
VOP(V0F38, 66, B6, VEC(XR, WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfmaddsub231ps vfmaddsub231pd */
VOP(V0F38, 66, B7, VEC(XR, WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfmsubadd231ps vfmsubadd231pd */
VOP(V0F38, 66, B8, VEC(XR, WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfmadd231ps vfmadd231pd */
VOP(V0F38, 66, B9, VEC(XR, WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfmadd231ss vfmadd231sd */
VOP(V0F38, 66, BA, VEC(XR, WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfmsub231ps vfmsub231pd */
VOP(V0F38, 66, BB, VEC(XR, WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfmsub231ss vfmsub231sd */
VOP(V0F38, 66, BC, VEC(XR, WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfnmadd231ps vfnmadd231pd */
VOP(V0F38, 66, BD, VEC(XR, WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfnmadd231ss vfnmadd231sd */
VOP(V0F38, 66, BE, VEC(XR, WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfnmsub231ps vfnmsub231pd */
VOP(V0F38, 66, BF, VEC(XR, WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfnmsub231ss vfnmsub231sd */
VOP(V0F38, 66, CF, VEC(XR, C_W0 | L01 | C_VV, .classes = INT))	/* vgf2p8mulb */
VOP(V0F38, 66, DB, VEC(XR, WIG | C_L0, .classes = INT))	/* vaesimc */
VOP(V0F38, 66, DC, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vaesenc */
VOP(V0F38, 66, DD, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vaesenclast */
VOP(V0F38, 66, DE, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vaesdec */
VOP(V0F38, 66, DF, VEC(XR, WIG | L01 | C_VV, .classes = INT))	/* vaesdeclast */
VOP(V0F38, 66, F7, VEC(GR | A_REG_W | A_VV_R, WIG | C_L0 | C_VV))	/* shlx */
VOP(V0F38, F3, 4B, VEC(GW | A_SIB | A_NOREG, C_W0 | C_L0 | C_REGK))	/* tilestored */
VOP(V0F38, F3, 5C, VEC(XR | A_NOMEM, C_W0 | C_L0 | C_VV | C_VVK | C_REGK | C_DISTINCT))	/* tdpbf16ps */
VOP(V0F38, F3, 5E, VEC(XR | A_NOMEM, C_W0 | C_L0 | C_VV | C_VVK | C_REGK | C_DISTINCT))	/* tdpbsud */
VOP(V0F38, F3, F5, VEC(GR | A_REG_W | A_VV_R, WIG | C_L0 | C_VV))	/* pext */
VOP(V0F38, F3, F7, VEC(GR | A_REG_W | A_VV_R, WIG | C_L0 | C_VV))	/* sarx */
VOP(V0F38, F2, 49, VEC(A_MODRM | A_RM_X | A_NOMEM, C_W0 | C_L0 | C_REGK, .check = CHECK_RM0))	/* tilezero */
VOP(V0F38, F2, 4B, VEC(GR | A_SIB | A_NOREG, C_W0 | C_L0 | C_REGK))	/* tileloadd */
VOP(V0F38, F2, 5E, VEC(XR | A_NOMEM, C_W0 | C_L0 | C_VV | C_VVK | C_REGK | C_DISTINCT))	/* tdpbssd */
VOP(V0F38, F2, F5, VEC(GR | A_REG_W | A_VV_R, WIG | C_L0 | C_VV))	/* pdep */
VOP(V0F38, F2, F6, VEC(GR | A_REG_W | A_VV_W, WIG | C_L0 | C_VV, .classes = CLASS_MUL, .regs = R_D_R))	/* mulx */
VOP(V0F38, F2, F7, VEC(GR | A_REG_W | A_VV_R, WIG | C_L0 | C_VV))	/* shrx */
VOP(V0F3A, 66, 00, VEC(XR | IB, C_W1 | C_L1, .classes = INT))	/* vpermq */
VOP(V0F3A, 66, 01, VEC(XR | IB, C_W1 | C_L1, .classes = INT))	/* vpermpd */
VOP(V0F3A, 66, 02, VEC(XR | IB, C_W0 | L01 | C_VV, .classes = INT))	/* vpblendd */
VOP(V0F3A, 66, 04, VEC(XR | IB, C_W0 | L01, .classes = INT))	/* vpermilps */
VOP(V0F3A, 66, 05, VEC(XR | IB, C_W0 | L01, .classes = INT))	/* vpermilpd */
VOP(V0F3A, 66, 06, VEC(XR | IB, C_W0 | C_L1 | C_VV, .classes = INT))	/* vperm2f128 */
VOP(V0F3A, 66, 08, VEC(XR | IB, WIG | L01, .classes = FP))	/* vroundps */
VOP(V0F3A, 66, 09, VEC(XR | IB, WIG | L01, .classes = FP))	/* vroundpd */
VOP(V0F3A, 66, 0A, VEC(XR | IB, WIG | L01 | C_VV, .classes = FP))	/* vroundss */
VOP(V0F3A, 66, 0B, VEC(XR | IB, WIG | L01 | C_VV, .classes = FP))	/* vroundsd */
VOP(V0F3A, 66, 0C, VEC(XR | IB, WIG | L01 | C_VV))	/* vblendps */
VOP(V0F3A, 66, 0D, VEC(XR | IB, WIG | L01 | C_VV))	/* vblendpd */
VOP(V0F3A, 66, 0E, VEC(XR | IB, WIG | L01 | C_VV, .classes = INT))	/* vpblendw */
VOP(V0F3A, 66, 0F, VEC(XR | IB, WIG | L01 | C_VV, .classes = INT))	/* vpalignr */
VOP(V0F3A, 66, 14, VEC(GW | IB, WIG | C_L0, .classes = INT))	/* vpextrb */
VOP(V0F3A, 66, 15, VEC(GW | IB, WIG | C_L0, .classes = INT))	/* vpextrw */
VOP(V0F3A, 66, 16, VEC(GW | IB, WIG | C_L0, .classes = INT))	/* vpextrd vpextrq */
VOP(V0F3A, 66, 17, VEC(GW | IB, WIG | C_L0))	/* vextractps */
VOP(V0F3A, 66, 18, VEC(XR | IB, C_W0 | C_L1 | C_VV))	/* vinsertf128 */
VOP(V0F3A, 66, 19, VEC(XW | IB, C_W0 | C_L1))	/* vextractf128 */
VOP(V0F3A, 66, 1D, VEC(XW | IB, C_W0 | L01, .classes = FP))	/* vcvtps2ph */
VOP(V0F3A, 66, 20, VEC(GR | IB, WIG | C_L0 | C_VV, .classes = INT))	/* vpinsrb */
VOP(V0F3A, 66, 21, VEC(XR | IB, WIG | C_L0 | C_VV))	/* vinsertps */
VOP(V0F3A, 66, 22, VEC(GR | IB, WIG | C_L0 | C_VV, .classes = INT))	/* vpinsrd vpinsrq */
VOP(V0F3A, 66, 30, VEC(XR | IB | A_NOMEM, WIG | C_L0 | C_REGK))	/* kshiftrb kshiftrw */
VOP(V0F3A, 66, 31, VEC(XR | IB | A_NOMEM, WIG | C_L0 | C_REGK))	/* kshiftrd kshiftrq */
VOP(V0F3A, 66, 32, VEC(XR | IB | A_NOMEM, WIG | C_L0 | C_REGK))	/* kshiftlb kshiftlw */
VOP(V0F3A, 66, 33, VEC(XR | IB | A_NOMEM, WIG | C_L0 | C_REGK))	/* kshiftld kshiftlq */
VOP(V0F3A, 66, 38, VEC(XR | IB, C_W0 | C_L1 | C_VV))	/* vinserti128 */
VOP(V0F3A, 66, 39, VEC(XW | IB, C_W0 | C_L1))	/* vextracti128 */
VOP(V0F3A, 66, 40, VEC(XR | IB, WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vdpps */
VOP(V0F3A, 66, 41, VEC(XR | IB, WIG | C_L0 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vdppd */
VOP(V0F3A, 66, 42, VEC(XR | IB, WIG | L01 | C_VV, .classes = INT))	/* vmpsadbw */
VOP(V0F3A, 66, 44, VEC(XR | IB, WIG | L01 | C_VV, .classes = INT))	/* vpclmulqdq */
VOP(V0F3A, 66, 46, VEC(XR | IB, C_W0 | C_L1 | C_VV, .classes = INT))	/* vperm2i128 */
VOP(V0F3A, 66, 48, VEC(XR | A_IMM(I_IS4), WIG | L01 | C_VV, .classes = INT))	/* vpermil2ps */
VOP(V0F3A, 66, 49, VEC(XR | A_IMM(I_IS4), WIG | L01 | C_VV, .classes = INT))	/* vpermil2pd */
VOP(V0F3A, 66, 4A, VEC(XR | A_IMM(I_IS4), C_W0 | L01 | C_VV))	/* vblendvps */
VOP(V0F3A, 66, 4B, VEC(XR | A_IMM(I_IS4), C_W0 | L01 | C_VV))	/* vblendvpd */
VOP(V0F3A, 66, 4C, VEC(XR | A_IMM(I_IS4), C_W0 | L01 | C_VV, .classes = INT))	/* vpblendvb */
VOP(V0F3A, 66, 5C, VEC(XR | A_IMM(I_IS4), WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfmaddsubps */
VOP(V0F3A, 66, 5D, VEC(XR | A_IMM(I_IS4), WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfmaddsubpd */
VOP(V0F3A, 66, 5E, VEC(XR | A_IMM(I_IS4), WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfmsubaddps */
VOP(V0F3A, 66, 5F, VEC(XR | A_IMM(I_IS4), WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfmsubaddpd */
VOP(V0F3A, 66, 60, VEC(XR | IB, WIG | C_L0, .classes = INT, .flags = F_ALL, .regs = R_PCMPESTRM))	/* vpcmpestrm */
VOP(V0F3A, 66, 61, VEC(XR | IB, WIG | C_L0, .classes = INT, .flags = F_ALL, .regs = R_PCMPESTRI))	/* vpcmpestri */
VOP(V0F3A, 66, 62, VEC(XR | IB, WIG | C_L0, .classes = INT, .flags = F_ALL))	/* vpcmpistrm */
VOP(V0F3A, 66, 63, VEC(XR | IB, WIG | C_L0, .classes = INT, .flags = F_ALL, .regs = R_PCMPISTRI))	/* vpcmpistri */
VOP(V0F3A, 66, 68, VEC(XR | A_IMM(I_IS4), WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfmaddps */
VOP(V0F3A, 66, 69, VEC(XR | A_IMM(I_IS4), WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfmaddpd */
VOP(V0F3A, 66, 6A, VEC(XR | A_IMM(I_IS4), WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfmaddss */
VOP(V0F3A, 66, 6B, VEC(XR | A_IMM(I_IS4), WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfmaddsd */
VOP(V0F3A, 66, 6C, VEC(XR | A_IMM(I_IS4), WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfmsubps */
VOP(V0F3A, 66, 6D, VEC(XR | A_IMM(I_IS4), WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfmsubpd */
VOP(V0F3A, 66, 6E, VEC(XR | A_IMM(I_IS4), WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfmsubss */
VOP(V0F3A, 66, 6F, VEC(XR | A_IMM(I_IS4), WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfmsubsd */
VOP(V0F3A, 66, 78, VEC(XR | A_IMM(I_IS4), WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfnmaddps */
VOP(V0F3A, 66, 79, VEC(XR | A_IMM(I_IS4), WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfnmaddpd */
VOP(V0F3A, 66, 7A, VEC(XR | A_IMM(I_IS4), WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfnmaddss */
VOP(V0F3A, 66, 7B, VEC(XR | A_IMM(I_IS4), WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfnmaddsd */
VOP(V0F3A, 66, 7C, VEC(XR | A_IMM(I_IS4), WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfnmsubps */
VOP(V0F3A, 66, 7D, VEC(XR | A_IMM(I_IS4), WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfnmsubpd */
VOP(V0F3A, 66, 7E, VEC(XR | A_IMM(I_IS4), WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfnmsubss */
VOP(V0F3A, 66, 7F, VEC(XR | A_IMM(I_IS4), WIG | L01 | C_VV, .classes = FP | CLASS_MUL_FP))	/* vfnmsubsd */
VOP(V0F3A, 66, CE, VEC(XR | IB, C_W1 | L01 | C_VV, .classes = INT))	/* vgf2p8affineqb */
VOP(V0F3A, 66, CF, VEC(XR | IB, C_W1 | L01 | C_VV, .classes = INT))	/* vgf2p8affineinvqb */
VOP(V0F3A, 66, DF, VEC(XR | IB, WIG | C_L0, .classes = INT))	/* vaeskeygenassist */
VOP(V0F3A, F2, F0, VEC(GR | A_REG_W | IB, WIG | C_L0))	/* rorx */
VOP(E0F, NP, 10, VEC(XR, C_W0 | L012 | KZ))	/* vmovups */
VOP(E0F, NP, 11, VEC(XW, C_W0 | L012 | KZ))	/* vmovups */
VOP(E0F, NP, 12, VEC(XR, C_W0 | C_L0 | C_VV))	/* vmovlps vmovhlps */
VOP(E0F, NP, 13, VEC(GW | A_NOREG, C_W0 | C_L0))	/* vmovlps */
VOP(E0F, NP, 14, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | KZ))	/* vunpcklps */
VOP(E0F, NP, 15, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | KZ))	/* vunpckhps */
VOP(E0F, NP, 16, VEC(XR, C_W0 | C_L0 | C_VV))	/* vmovhps vmovlhps */
VOP(E0F, NP, 17, VEC(GW | A_NOREG, C_W0 | C_L0))	/* vmovhps */
VOP(E0F, NP, 28, VEC(XR, C_W0 | L012 | KZ))	/* vmovaps */
VOP(E0F, NP, 29, VEC(XW, C_W0 | L012 | KZ))	/* vmovaps */
VOP(E0F, NP, 2B, VEC(GW | A_NOREG, C_W0 | L012))	/* vmovntps */
VOP(E0F, NP, 2E, VEC(XR, C_W0 | L012 | C_ER, .classes = FP, .flags = F_ALL))	/* vucomiss */
VOP(E0F, NP, 2F, VEC(XR, C_W0 | L012 | C_ER, .classes = FP, .flags = F_ALL))	/* vcomiss */
VOP(E0F, NP, 51, VEC(XR, C_W0 | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vsqrtps */
VOP(E0F, NP, 54, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | KZ))	/* vandps */
VOP(E0F, NP, 55, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | KZ))	/* vandnps */
VOP(E0F, NP, 56, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | KZ))	/* vorps */
VOP(E0F, NP, 57, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | KZ))	/* vxorps */
VOP(E0F, NP, 58, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP))	/* vaddps */
VOP(E0F, NP, 59, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vmulps */
VOP(E0F, NP, 5A, VEC(XR, C_W0 | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vcvtps2pd */
VOP(E0F, NP, 5B, VEC(XR, WIG | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vcvtdq2ps vcvtqq2ps */
VOP(E0F, NP, 5C, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP))	/* vsubps */
VOP(E0F, NP, 5D, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP))	/* vminps */
VOP(E0F, NP, 5E, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP | CLASS_DIV_FP))	/* vdivps */
VOP(E0F, NP, 5F, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP))	/* vmaxps */
VOP(E0F, NP, 78, VEC(XR, WIG | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vcvttps2udq vcvttpd2udq */
VOP(E0F, NP, 79, VEC(XR, WIG | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vcvtps2udq vcvtpd2udq */
VOP(E0F, NP, C2, VEC(XR | IB, C_W0 | L012 | C_VV | C_REGK | C_BCAST | C_ER | C_K, .classes = FP))	/* vcmpps */
VOP(E0F, NP, C6, VEC(XR | IB, C_W0 | L012 | C_VV | C_BCAST | KZ))	/* vshufps */
VOP(E0F, 66, 10, VEC(XR, C_W1 | L012 | KZ))	/* vmovupd */
VOP(E0F, 66, 11, VEC(XW, C_W1 | L012 | KZ))	/* vmovupd */
VOP(E0F, 66, 12, VEC(GR | A_NOREG, C_W1 | C_L0 | C_VV))	/* vmovlpd */
VOP(E0F, 66, 13, VEC(GW | A_NOREG, C_W1 | C_L0))	/* vmovlpd */
VOP(E0F, 66, 14, VEC(XR, C_W1 | L012 | C_VV | C_BCAST | KZ))	/* vunpcklpd */
VOP(E0F, 66, 15, VEC(XR, C_W1 | L012 | C_VV | C_BCAST | KZ))	/* vunpckhpd */
VOP(E0F, 66, 16, VEC(GR | A_NOREG, C_W1 | C_L0 | C_VV))	/* vmovhpd */
VOP(E0F, 66, 17, VEC(GW | A_NOREG, C_W1 | C_L0))	/* vmovhpd */
VOP(E0F, 66, 28, VEC(XR, C_W1 | L012 | KZ))	/* vmovapd */
VOP(E0F, 66, 29, VEC(XW, C_W1 | L012 | KZ))	/* vmovapd */
VOP(E0F, 66, 2B, VEC(GW | A_NOREG, C_W1 | L012))	/* vmovntpd */
VOP(E0F, 66, 2E, VEC(XR, C_W1 | L012 | C_ER, .classes = FP, .flags = F_ALL))	/* vucomisd */
VOP(E0F, 66, 2F, VEC(XR, C_W1 | L012 | C_ER, .classes = FP, .flags = F_ALL))	/* vcomisd */
VOP(E0F, 66, 51, VEC(XR, C_W1 | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vsqrtpd */
VOP(E0F, 66, 54, VEC(XR, C_W1 | L012 | C_VV | C_BCAST | KZ))	/* vandpd */
VOP(E0F, 66, 55, VEC(XR, C_W1 | L012 | C_VV | C_BCAST | KZ))	/* vandnpd */
VOP(E0F, 66, 56, VEC(XR, C_W1 | L012 | C_VV | C_BCAST | KZ))	/* vorpd */
VOP(E0F, 66, 57, VEC(XR, C_W1 | L012 | C_VV | C_BCAST | KZ))	/* vxorpd */
VOP(E0F, 66, 58, VEC(XR, C_W1 | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP))	/* vaddpd */
VOP(E0F, 66, 59, VEC(XR, C_W1 | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vmulpd */
VOP(E0F, 66, 5A, VEC(XR, C_W1 | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vcvtpd2ps */
VOP(E0F, 66, 5B, VEC(XR, C_W0 | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vcvtps2dq */
VOP(E0F, 66, 5C, VEC(XR, C_W1 | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP))	/* vsubpd */
VOP(E0F, 66, 5D, VEC(XR, C_W1 | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP))	/* vminpd */
VOP(E0F, 66, 5E, VEC(XR, C_W1 | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP | CLASS_DIV_FP))	/* vdivpd */
VOP(E0F, 66, 5F, VEC(XR, C_W1 | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP))	/* vmaxpd */
VOP(E0F, 66, 60, VEC(XR, WIG | L012 | C_VV | KZ, .classes = INT))	/* vpunpcklbw */
VOP(E0F, 66, 61, VEC(XR, WIG | L012 | C_VV | KZ, .classes = INT))	/* vpunpcklwd */
VOP(E0F, 66, 62, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | KZ, .classes = INT))	/* vpunpckldq */
VOP(E0F, 66, 63, VEC(XR, WIG | L012 | C_VV | KZ, .classes = INT))	/* vpacksswb */
VOP(E0F, 66, 64, VEC(XR, WIG | L012 | C_VV | C_REGK | C_K, .classes = INT))	/* vpcmpgtb */
VOP(E0F, 66, 65, VEC(XR, WIG | L012 | C_VV | C_REGK | C_K, .classes = INT))	/* vpcmpgtw */
VOP(E0F, 66, 66, VEC(XR, C_W0 | L012 | C_VV | C_REGK | C_BCAST | C_K, .classes = INT))	/* vpcmpgtd */
VOP(E0F, 66, 67, VEC(XR, WIG | L012 | C_VV | KZ, .classes = INT))	/* vpackuswb */
VOP(E0F, 66, 68, VEC(XR, WIG | L012 | C_VV | KZ, .classes = INT))	/* vpunpckhbw */
VOP(E0F, 66, 69, VEC(XR, WIG | L012 | C_VV | KZ, .classes = INT))	/* vpunpckhwd */
VOP(E0F, 66, 6A, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | KZ, .classes = INT))	/* vpunpckhdq */
VOP(E0F, 66, 6B, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | KZ, .classes = INT))	/* vpackssdw */
VOP(E0F, 66, 6C, VEC(XR, C_W1 | L012 | C_VV | C_BCAST | KZ, .classes = INT))	/* vpunpcklqdq */
VOP(E0F, 66, 6D, VEC(XR, C_W1 | L012 | C_VV | C_BCAST | KZ, .classes = INT))	/* vpunpckhqdq */
VOP(E0F, 66, 6E, VEC(GR, WIG | C_L0))	/* vmovd vmovq */
VOP(E0F, 66, 6F, VEC(XR, WIG | L012 | KZ))	/* vmovdqa32 vmovdqa64 */
VOP(E0F, 66, 70, VEC(XR | IB, C_W0 | L012 | C_BCAST | KZ, .classes = INT))	/* vpshufd */
VOP(E0F, 66, 71, STEP(K_REG, 1))	/* vpsrlw vpsraw vpsllw */
VROW(NONE)
VROW(NONE)
VROW(VEC(XR | IB, WIG | L012 | C_VV | KZ, .classes = INT))
VROW(NONE)
VROW(VEC(XR | IB, WIG | L012 | C_VV | KZ, .classes = INT))
VROW(NONE)
VROW(VEC(XR | IB, WIG | L012 | C_VV | KZ, .classes = INT))
VROW(NONE)
VOP(E0F, 66, 72, STEP(K_REG, 1))	/* vprord vprold vpsrld vpsrad vpslld vprorq vprolq vpsraq */
VROW(VEC(XR | IB, WIG | L012 | C_VV | C_BCAST | KZ, .classes = INT))
VROW(VEC(XR | IB, WIG | L012 | C_VV | C_BCAST | KZ, .classes = INT))
VROW(VEC(XR | IB, C_W0 | L012 | C_VV | C_BCAST | KZ, .classes = INT))
VROW(NONE)
VROW(VEC(XR | IB, WIG | L012 | C_VV | C_BCAST | KZ, .classes = INT))
VROW(NONE)
VROW(VEC(XR | IB, C_W0 | L012 | C_VV | C_BCAST | KZ, .classes = INT))
VROW(NONE)
VOP(E0F, 66, 73, STEP(K_REG, 1))	/* vpsrldq vpslldq vpsrlq vpsllq */
VROW(NONE)
VROW(NONE)
VROW(VEC(XR | IB, C_W1 | L012 | C_VV | C_BCAST | KZ, .classes = INT))
VROW(VEC(XR | IB, WIG | L012 | C_VV, .classes = INT))
VROW(NONE)
VROW(NONE)
VROW(VEC(XR | IB, C_W1 | L012 | C_VV | C_BCAST | KZ, .classes = INT))
VROW(VEC(XR | IB, WIG | L012 | C_VV, .classes = INT))
VOP(E0F, 66, 74, VEC(XR, WIG | L012 | C_VV | C_REGK | C_K, .classes = INT))	/* vpcmpeqb */
VOP(E0F, 66, 75, VEC(XR, WIG | L012 | C_VV | C_REGK | C_K, .classes = INT))	/* vpcmpeqw */
VOP(E0F, 66, 76, VEC(XR, C_W0 | L012 | C_VV | C_REGK | C_BCAST | C_K, .classes = INT))	/* vpcmpeqd */
VOP(E0F, 66, 78, VEC(XR, WIG | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vcvttps2uqq vcvttpd2uqq */
VOP(E0F, 66, 79, VEC(XR, WIG | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vcvtps2uqq vcvtpd2uqq */
VOP(E0F, 66, 7A, VEC(XR, WIG | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vcvttps2qq vcvttpd2qq */
VOP(E0F, 66, 7B, VEC(XR, WIG | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vcvtps2qq vcvtpd2qq */
VOP(E0F, 66, 7E, VEC(GW, WIG | C_L0))	/* vmovd vmovq */
VOP(E0F, 66, 7F, VEC(XW, WIG | L012 | KZ))	/* vmovdqa32 vmovdqa64 */
VOP(E0F, 66, C2, VEC(XR | IB, C_W1 | L012 | C_VV | C_REGK | C_BCAST | C_ER | C_K, .classes = FP))	/* vcmppd */
VOP(E0F, 66, C4, VEC(GR | IB, WIG | C_L0 | C_VV, .classes = INT))	/* vpinsrw */
VOP(E0F, 66, C5, VEC(XR | A_REG_W | IB | A_NOMEM, WIG | C_L0, .classes = INT))	/* vpextrw */
VOP(E0F, 66, C6, VEC(XR | IB, C_W1 | L012 | C_VV | C_BCAST | KZ))	/* vshufpd */
VOP(E0F, 66, D1, VEC(XR, WIG | L012 | C_VV | KZ, .classes = INT))	/* vpsrlw */
VOP(E0F, 66, D2, VEC(XR, C_W0 | L012 | C_VV | KZ, .classes = INT))	/* vpsrld */
VOP(E0F, 66, D3, VEC(XR, C_W1 | L012 | C_VV | KZ, .classes = INT))	/* vpsrlq */
VOP(E0F, 66, D4, VEC(XR, C_W1 | L012 | C_VV | C_BCAST | KZ, .classes = INT))	/* vpaddq */
VOP(E0F, 66, D5, VEC(XR, WIG | L012 | C_VV | KZ, .classes = INT))	/* vpmullw */
VOP(E0F, 66, D6, VEC(XW, C_W1 | C_L0))	/* vmovq */
VOP(E0F, 66, D8, VEC(XR, WIG | L012 | C_VV | KZ, .classes = INT))	/* vpsubusb */
VOP(E0F, 66, D9, VEC(XR, WIG | L012 | C_VV | KZ, .classes = INT))	/* vpsubusw */
VOP(E0F, 66, DA, VEC(XR, WIG | L012 | C_VV | KZ, .classes = INT))	/* vpminub */
VOP(E0F, 66, DB, VEC(XR, WIG | L012 | C_VV | C_BCAST | KZ, .classes = INT))	/* vpandd vpandq */
VOP(E0F, 66, DC, VEC(XR, WIG | L012 | C_VV | KZ, .classes = INT))	/* vpaddusb */
VOP(E0F, 66, DD, VEC(XR, WIG | L012 | C_VV | KZ, .classes = INT))	/* vpaddusw */
VOP(E0F, 66, DE, VEC(XR, WIG | L012 | C_VV | KZ, .classes = INT))	/* vpmaxub */
VOP(E0F, 66, DF, VEC(XR, WIG | L012 | C_VV | C_BCAST | KZ, .classes = INT))	/* vpandnd vpandnq */
VOP(E0F, 66, E0, VEC(XR, WIG | L012 | C_VV | KZ, .classes = INT))	/* vpavgb */
VOP(E0F, 66, E1, VEC(XR, WIG | L012 | C_VV | KZ, .classes = INT))	/* vpsraw */
VOP(E0F, 66, E2, VEC(XR, WIG | L012 | C_VV | KZ, .classes = INT))	/* vpsrad vpsraq */
VOP(E0F, 66, E3, VEC(XR, WIG | L012 | C_VV | KZ, .classes = INT))	/* vpavgw */
VOP(E0F, 66, E4, VEC(XR, WIG | L012 | C_VV | KZ, .classes = INT))	/* vpmulhuw */
VOP(E0F, 66, E5, VEC(XR, WIG | L012 | C_VV | KZ, .classes = INT))	/* vpmulhw */
VOP(E0F, 66, E6, VEC(XR, C_W1 | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vcvttpd2dq */
VOP(E0F, 66, E7, VEC(GW | A_NOREG, C_W0 | L012))	/* vmovntdq */
VOP(E0F, 66, E8, VEC(XR, WIG | L012 | C_VV | KZ, .classes = INT))	/* vpsubsb */
VOP(E0F, 66, E9, VEC(XR, WIG | L012 | C_VV | KZ, .classes = INT))	/* vpsubsw */
VOP(E0F, 66, EA, VEC(XR, WIG | L012 | C_VV | KZ, .classes = INT))	/* vpminsw */
VOP(E0F, 66, EB, VEC(XR, WIG | L012 | C_VV | C_BCAST | KZ, .classes = INT))	/* vpord vporq */
VOP(E0F, 66, EC, VEC(XR, WIG | L012 | C_VV | KZ, .classes = INT))	/* vpaddsb */
VOP(E0F, 66, ED, VEC(XR, WIG | L012 | C_VV | KZ, .classes = INT))	/* vpaddsw */
VOP(E0F, 66, EE, VEC(XR, WIG | L012 | C_VV | KZ, .classes = INT))	/* vpmaxsw */
VOP(E0F, 66, EF, VEC(XR, WIG | L012 | C_VV | C_BCAST | KZ, .classes = INT))	/* vpxord vpxorq */
VOP(E0F, 66, F1, VEC(XR, WIG | L012 | C_VV | KZ, .classes = INT))	/* vpsllw */
VOP(E0F, 66, F2, VEC(XR, C_W0 | L012 | C_VV | KZ, .classes = INT))	/* vpslld */
VOP(E0F, 66, F3, VEC(XR, C_W1 | L012 | C_VV | KZ, .classes = INT))	/* vpsllq */
VOP(E0F, 66, F4, VEC(XR, C_W1 | L012 | C_VV | C_BCAST | KZ, .classes = INT))	/* vpmuludq */
VOP(E0F, 66, F5, VEC(XR, WIG | L012 | C_VV | KZ, .classes = INT))	/* vpmaddwd */
VOP(E0F, 66, F6, VEC(XR, WIG | L012 | C_VV, .classes = INT))	/* vpsadbw */
VOP(E0F, 66, F8, VEC(XR, WIG | L012 | C_VV | KZ, .classes = INT))	/* vpsubb */
VOP(E0F, 66, F9, VEC(XR, WIG | L012 | C_VV | KZ, .classes = INT))	/* vpsubw */
VOP(E0F, 66, FA, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | KZ, .classes = INT))	/* vpsubd */
VOP(E0F, 66, FB, VEC(XR, C_W1 | L012 | C_VV | C_BCAST | KZ, .classes = INT))	/* vpsubq */
VOP(E0F, 66, FC, VEC(XR, WIG | L012 | C_VV | KZ, .classes = INT))	/* vpaddb */
VOP(E0F, 66, FD, VEC(XR, WIG | L012 | C_VV | KZ, .classes = INT))	/* vpaddw */
VOP(E0F, 66, FE, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | KZ, .classes = INT))	/* vpaddd */
VOP(E0F, F3, 10, STEP(K_MOD, 1))	/* vmovss */
VROW(VEC(GR, C_W0 | L012 | KZ))
VROW(VEC(XR, C_W0 | L012 | C_VV | KZ))
VOP(E0F, F3, 11, STEP(K_MOD, 1))	/* vmovss */
VROW(VEC(GW, C_W0 | L012 | C_K))
VROW(VEC(XW, C_W0 | L012 | C_VV | KZ))
VOP(E0F, F3, 12, VEC(XR, C_W0 | L012 | KZ))	/* vmovsldup */
VOP(E0F, F3, 16, VEC(XR, C_W0 | L012 | KZ))	/* vmovshdup */
VOP(E0F, F3, 2A, VEC(GR, WIG | L012 | C_VV | C_ER, .classes = FP))	/* vcvtsi2ss */
VOP(E0F, F3, 2C, VEC(XR | A_REG_W, WIG | L012 | C_ER, .classes = FP))	/* vcvttss2si */
VOP(E0F, F3, 2D, VEC(XR | A_REG_W, WIG | L012 | C_ER, .classes = FP))	/* vcvtss2si */
VOP(E0F, F3, 51, VEC(XR, C_W0 | L012 | C_VV | C_ER | KZ, .classes = FP))	/* vsqrtss */
VOP(E0F, F3, 58, VEC(XR, C_W0 | L012 | C_VV | C_ER | KZ, .classes = FP))	/* vaddss */
VOP(E0F, F3, 59, VEC(XR, C_W0 | L012 | C_VV | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vmulss */
VOP(E0F, F3, 5A, VEC(XR, C_W0 | L012 | C_VV | C_ER | KZ, .classes = FP))	/* vcvtss2sd */
VOP(E0F, F3, 5B, VEC(XR, C_W0 | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vcvttps2dq */
VOP(E0F, F3, 5C, VEC(XR, C_W0 | L012 | C_VV | C_ER | KZ, .classes = FP))	/* vsubss */
VOP(E0F, F3, 5D, VEC(XR, C_W0 | L012 | C_VV | C_ER | KZ, .classes = FP))	/* vminss */
VOP(E0F, F3, 5E, VEC(XR, C_W0 | L012 | C_VV | C_ER | KZ, .classes = FP | CLASS_DIV_FP))	/* vdivss */
VOP(E0F, F3, 5F, VEC(XR, C_W0 | L012 | C_VV | C_ER | KZ, .classes = FP))	/* vmaxss */
VOP(E0F, F3, 6F, VEC(XR, WIG | L012 | KZ))	/* vmovdqu32 vmovdqu64 */
VOP(E0F, F3, 70, VEC(XR | IB, WIG | L012 | KZ, .classes = INT))	/* vpshufhw */
VOP(E0F, F3, 78, VEC(XR | A_REG_W, WIG | L012 | C_ER, .classes = FP))	/* vcvttss2usi */
VOP(E0F, F3, 79, VEC(XR | A_REG_W, WIG | L012 | C_ER, .classes = FP))	/* vcvtss2usi */
VOP(E0F, F3, 7A, VEC(XR, WIG | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vcvtudq2pd vcvtuqq2pd */
VOP(E0F, F3, 7B, VEC(GR, WIG | L012 | C_VV | C_ER, .classes = FP))	/* vcvtusi2ss */
VOP(E0F, F3, 7E, VEC(XR, C_W1 | C_L0))	/* vmovq */
VOP(E0F, F3, 7F, VEC(XW, WIG | L012 | KZ))	/* vmovdqu32 vmovdqu64 */
VOP(E0F, F3, C2, VEC(XR | IB, C_W0 | L012 | C_VV | C_REGK | C_ER | C_K, .classes = FP))	/* vcmpss */
VOP(E0F, F3, E6, VEC(XR, WIG | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vcvtdq2pd vcvtqq2pd */
VOP(E0F, F2, 10, STEP(K_MOD, 1))	/* vmovsd */
VROW(VEC(GR, C_W1 | L012 | KZ))
VROW(VEC(XR, C_W1 | L012 | C_VV | KZ))
VOP(E0F, F2, 11, STEP(K_MOD, 1))	/* vmovsd */
VROW(VEC(GW, C_W1 | L012 | C_K))
VROW(VEC(XW, C_W1 | L012 | C_VV | KZ))
VOP(E0F, F2, 12, VEC(XR, C_W1 | L012 | KZ))	/* vmovddup */
VOP(E0F, F2, 2A, VEC(GR, WIG | L012 | C_VV | C_ER, .classes = FP))	/* vcvtsi2sd */
VOP(E0F, F2, 2C, VEC(XR | A_REG_W, WIG | L012 | C_ER, .classes = FP))	/* vcvttsd2si */
VOP(E0F, F2, 2D, VEC(XR | A_REG_W, WIG | L012 | C_ER, .classes = FP))	/* vcvtsd2si */
VOP(E0F, F2, 51, VEC(XR, C_W1 | L012 | C_VV | C_ER | KZ, .classes = FP))	/* vsqrtsd */
VOP(E0F, F2, 58, VEC(XR, C_W1 | L012 | C_VV | C_ER | KZ, .classes = FP))	/* vaddsd */
VOP(E0F, F2, 59, VEC(XR, C_W1 | L012 | C_VV | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vmulsd */
VOP(E0F, F2, 5A, VEC(XR, C_W1 | L012 | C_VV | C_ER | KZ, .classes = FP))	/* vcvtsd2ss */
VOP(E0F, F2, 5C, VEC(XR, C_W1 | L012 | C_VV | C_ER | KZ, .classes = FP))	/* vsubsd */
VOP(E0F, F2, 5D, VEC(XR, C_W1 | L012 | C_VV | C_ER | KZ, .classes = FP))	/* vminsd */
VOP(E0F, F2, 5E, VEC(XR, C_W1 | L012 | C_VV | C_ER | KZ, .classes = FP | CLASS_DIV_FP))	/* vdivsd */
VOP(E0F, F2, 5F, VEC(XR, C_W1 | L012 | C_VV | C_ER | KZ, .classes = FP))	/* vmaxsd */
VOP(E0F, F2, 6F, VEC(XR, WIG | L012 | KZ))	/* vmovdqu8 vmovdqu16 */
VOP(E0F, F2, 70, VEC(XR | IB, WIG | L012 | KZ, .classes = INT))	/* vpshuflw */
VOP(E0F, F2, 78, VEC(XR | A_REG_W, WIG | L012 | C_ER, .classes = FP))	/* vcvttsd2usi */
VOP(E0F, F2, 79, VEC(XR | A_REG_W, WIG | L012 | C_ER, .classes = FP))	/* vcvtsd2usi */
VOP(E0F, F2, 7A, VEC(XR, WIG | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vcvtudq2ps vcvtuqq2ps */
VOP(E0F, F2, 7B, VEC(GR, WIG | L012 | C_VV | C_ER, .classes = FP))	/* vcvtusi2sd */
VOP(E0F, F2, 7F, VEC(XW, WIG | L012 | KZ))	/* vmovdqu8 vmovdqu16 */
VOP(E0F, F2, C2, VEC(XR | IB, C_W1 | L012 | C_VV | C_REGK | C_ER | C_K, .classes = FP))	/* vcmpsd */
VOP(E0F, F2, E6, VEC(XR, C_W1 | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vcvtpd2dq */
VOP(E0F38, 66, 00, VEC(XR, WIG | L012 | C_VV | KZ, .classes = INT))	/* vpshufb */
VOP(E0F38, 66, 04, VEC(XR, WIG | L012 | C_VV | KZ, .classes = INT))	/* vpmaddubsw */
VOP(E0F38, 66, 0B, VEC(XR, WIG | L012 | C_VV | KZ, .classes = INT))	/* vpmulhrsw */
VOP(E0F38, 66, 0C, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | KZ, .classes = INT))	/* vpermilps */
VOP(E0F38, 66, 0D, VEC(XR, C_W1 | L012 | C_VV | C_BCAST | KZ, .classes = INT))	/* vpermilpd */
VOP(E0F38, 66, 10, VEC(XR, C_W1 | L012 | C_VV | KZ, .classes = INT))	/* vpsrlvw */
VOP(E0F38, 66, 11, VEC(XR, C_W1 | L012 | C_VV | KZ, .classes = INT))	/* vpsravw */
VOP(E0F38, 66, 12, VEC(XR, C_W1 | L012 | C_VV | KZ, .classes = INT))	/* vpsllvw */
VOP(E0F38, 66, 13, VEC(XR, C_W0 | L012 | C_ER | KZ, .classes = FP))	/* vcvtph2ps */
VOP(E0F38, 66, 14, VEC(XR, WIG | L012 | C_VV | C_BCAST | KZ, .classes = INT))	/* vprorvd vprorvq */
VOP(E0F38, 66, 15, VEC(XR, WIG | L012 | C_VV | C_BCAST | KZ, .classes = INT))	/* vprolvd vprolvq */
VOP(E0F38, 66, 16, VEC(XR, WIG | L12 | C_VV | C_BCAST | KZ, .classes = INT))	/* vpermps vpermpd */
VOP(E0F38, 66, 18, VEC(XR, C_W0 | L012 | KZ))	/* vbroadcastss */
VOP(E0F38, 66, 19, VEC(XR, WIG | L12 | KZ))	/* vbroadcastf32x2 vbroadcastsd */
VOP(E0F38, 66, 1A, VEC(GR | A_NOREG, WIG | L12 | KZ))	/* vbroadcastf32x4 vbroadcastf64x2 */
VOP(E0F38, 66, 1B, VEC(GR | A_NOREG, WIG | C_L2 | KZ))	/* vbroadcastf32x8 vbroadcastf64x4 */
VOP(E0F38, 66, 1C, VEC(XR, WIG | L012 | KZ, .classes = INT))	/* vpabsb */
VOP(E0F38, 66, 1D, VEC(XR, WIG | L012 | KZ, .classes = INT))	/* vpabsw */
VOP(E0F38, 66, 1E, VEC(XR, C_W0 | L012 | C_BCAST | KZ, .classes = INT))	/* vpabsd */
VOP(E0F38, 66, 1F, VEC(XR, C_W1 | L012 | C_BCAST | KZ, .classes = INT))	/* vpabsq */
VOP(E0F38, 66, 20, VEC(XR, WIG | L012 | KZ, .classes = INT))	/* vpmovsxbw */
VOP(E0F38, 66, 21, VEC(XR, WIG | L012 | KZ, .classes = INT))	/* vpmovsxbd */
VOP(E0F38, 66, 22, VEC(XR, WIG | L012 | KZ, .classes = INT))	/* vpmovsxbq */
VOP(E0F38, 66, 23, VEC(XR, WIG | L012 | KZ, .classes = INT))	/* vpmovsxwd */
VOP(E0F38, 66, 24, VEC(XR, WIG | L012 | KZ, .classes = INT))	/* vpmovsxwq */
VOP(E0F38, 66, 25, VEC(XR, C_W0 | L012 | KZ, .classes = INT))	/* vpmovsxdq */
VOP(E0F38, 66, 26, VEC(XR, WIG | L012 | C_VV | C_REGK | C_K, .classes = INT))	/* vptestmb vptestmw */
VOP(E0F38, 66, 27, VEC(XR, WIG | L012 | C_VV | C_REGK | C_BCAST | C_K, .classes = INT))	/* vptestmd vptestmq */
VOP(E0F38, 66, 28, VEC(XR, C_W1 | L012 | C_VV | C_BCAST | KZ, .classes = INT))	/* vpmuldq */
VOP(E0F38, 66, 29, VEC(XR, C_W1 | L012 | C_VV | C_REGK | C_BCAST | C_K, .classes = INT))	/* vpcmpeqq */
VOP(E0F38, 66, 2A, VEC(GR | A_NOREG, C_W0 | L012))	/* vmovntdqa */
VOP(E0F38, 66, 2B, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | KZ, .classes = INT))	/* vpackusdw */
VOP(E0F38, 66, 2C, VEC(XR, WIG | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP))	/* vscalefps vscalefpd */
VOP(E0F38, 66, 2D, VEC(XR, WIG | L012 | C_VV | C_ER | KZ, .classes = FP))	/* vscalefss vscalefsd */
VOP(E0F38, 66, 30, VEC(XR, WIG | L012 | KZ, .classes = INT))	/* vpmovzxbw */
VOP(E0F38, 66, 31, VEC(XR, WIG | L012 | KZ, .classes = INT))	/* vpmovzxbd */
VOP(E0F38, 66, 32, VEC(XR, WIG | L012 | KZ, .classes = INT))	/* vpmovzxbq */
VOP(E0F38, 66, 33, VEC(XR, WIG | L012 | KZ, .classes = INT))	/* vpmovzxwd */
VOP(E0F38, 66, 34, VEC(XR, WIG | L012 | KZ, .classes = INT))	/* vpmovzxwq */
VOP(E0F38, 66, 35, VEC(XR, C_W0 | L012 | KZ, .classes = INT))	/* vpmovzxdq */
VOP(E0F38, 66, 36, VEC(XR, WIG | L12 | C_VV | C_BCAST | KZ, .classes = INT))	/* vpermd vpermq */
VOP(E0F38, 66, 37, VEC(XR, C_W1 | L012 | C_VV | C_REGK | C_BCAST | C_K, .classes = INT))	/* vpcmpgtq */
VOP(E0F38, 66, 38, VEC(XR, WIG | L012 | C_VV | KZ, .classes = INT))	/* vpminsb */
VOP(E0F38, 66, 39, VEC(XR, WIG | L012 | C_VV | C_BCAST | KZ, .classes = INT))	/* vpminsd vpminsq */
VOP(E0F38, 66, 3A, VEC(XR, WIG | L012 | C_VV | KZ, .classes = INT))	/* vpminuw */
VOP(E0F38, 66, 3B, VEC(XR, WIG | L012 | C_VV | C_BCAST | KZ, .classes = INT))	/* vpminud vpminuq */
VOP(E0F38, 66, 3C, VEC(XR, WIG | L012 | C_VV | KZ, .classes = INT))	/* vpmaxsb */
VOP(E0F38, 66, 3D, VEC(XR, WIG | L012 | C_VV | C_BCAST | KZ, .classes = INT))	/* vpmaxsd vpmaxsq */
VOP(E0F38, 66, 3E, VEC(XR, WIG | L012 | C_VV | KZ, .classes = INT))	/* vpmaxuw */
VOP(E0F38, 66, 3F, VEC(XR, WIG | L012 | C_VV | C_BCAST | KZ, .classes = INT))	/* vpmaxud vpmaxuq */
VOP(E0F38, 66, 40, VEC(XR, WIG | L012 | C_VV | C_BCAST | KZ, .classes = INT))	/* vpmulld vpmullq */
VOP(E0F38, 66, 42, VEC(XR, WIG | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vgetexpps vgetexppd */
VOP(E0F38, 66, 43, VEC(XR, WIG | L012 | C_VV | C_ER | KZ, .classes = FP))	/* vgetexpss vgetexpsd */
VOP(E0F38, 66, 44, VEC(XR, WIG | L012 | C_BCAST | KZ, .classes = INT))	/* vplzcntd vplzcntq */
VOP(E0F38, 66, 45, VEC(XR, WIG | L012 | C_VV | C_BCAST | KZ, .classes = INT))	/* vpsrlvd vpsrlvq */
VOP(E0F38, 66, 46, VEC(XR, WIG | L012 | C_VV | C_BCAST | KZ, .classes = INT))	/* vpsravd vpsravq */
VOP(E0F38, 66, 47, VEC(XR, WIG | L012 | C_VV | C_BCAST | KZ, .classes = INT))	/* vpsllvd vpsllvq */
VOP(E0F38, 66, 4C, VEC(XR, WIG | L012 | C_BCAST | KZ, .classes = FP))	/* vrcp14ps vrcp14pd */
VOP(E0F38, 66, 4D, VEC(XR, WIG | L012 | C_VV | KZ, .classes = FP))	/* vrcp14ss vrcp14sd */
VOP(E0F38, 66, 4E, VEC(XR, WIG | L012 | C_BCAST | KZ, .classes = FP))	/* vrsqrt14ps vrsqrt14pd */
VOP(E0F38, 66, 4F, VEC(XR, WIG | L012 | C_VV | KZ, .classes = FP))	/* vrsqrt14ss vrsqrt14sd */
VOP(E0F38, 66, 50, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | KZ, .classes = INT))	/* vpdpbusd */
VOP(E0F38, 66, 51, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | KZ, .classes = INT))	/* vpdpbusds */
VOP(E0F38, 66, 52, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | KZ, .classes = INT))	/* vpdpwssd */
VOP(E0F38, 66, 53, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | KZ, .classes = INT))	/* vpdpwssds */
VOP(E0F38, 66, 54, VEC(XR, WIG | L012 | KZ, .classes = INT))	/* vpopcntb vpopcntw */
VOP(E0F38, 66, 55, VEC(XR, WIG | L012 | C_BCAST | KZ, .classes = INT))	/* vpopcntd vpopcntq */
VOP(E0F38, 66, 58, VEC(XR, C_W0 | L012 | KZ, .classes = INT))	/* vpbroadcastd */
VOP(E0F38, 66, 59, STEP(K_W, 1))	/* vbroadcasti32x2 vpbroadcastq */
VROW(VEC(XR, WIG | L012 | KZ))
VROW(VEC(XR, WIG | L012 | KZ, .classes = INT))
VOP(E0F38, 66, 5A, VEC(GR | A_NOREG, WIG | L12 | KZ))	/* vbroadcasti32x4 vbroadcasti64x2 */
VOP(E0F38, 66, 5B, VEC(GR | A_NOREG, WIG | C_L2 | KZ))	/* vbroadcasti32x8 vbroadcasti64x4 */
VOP(E0F38, 66, 62, VEC(XR, WIG | L012 | KZ, .classes = INT))	/* vpexpandb vpexpandw */
VOP(E0F38, 66, 63, VEC(XW, WIG | L012 | KZ, .classes = INT))	/* vpcompressb vpcompressw */
VOP(E0F38, 66, 64, VEC(XR, WIG | L012 | C_VV | C_BCAST | KZ, .classes = INT))	/* vpblendmd vpblendmq */
VOP(E0F38, 66, 65, VEC(XR, WIG | L012 | C_VV | C_BCAST | KZ))	/* vblendmps vblendmpd */
VOP(E0F38, 66, 66, VEC(XR, WIG | L012 | C_VV | KZ, .classes = INT))	/* vpblendmb vpblendmw */
VOP(E0F38, 66, 70, VEC(XR, C_W1 | L012 | C_VV | KZ, .classes = INT))	/* vpshldvw */
VOP(E0F38, 66, 71, VEC(XR, WIG | L012 | C_VV | C_BCAST | KZ, .classes = INT))	/* vpshldvd vpshldvq */
VOP(E0F38, 66, 72, VEC(XR, C_W1 | L012 | C_VV | KZ, .classes = INT))	/* vpshrdvw */
VOP(E0F38, 66, 73, VEC(XR, WIG | L012 | C_VV | C_BCAST | KZ, .classes = INT))	/* vpshrdvd vpshrdvq */
VOP(E0F38, 66, 75, VEC(XR, WIG | L012 | C_VV | KZ, .classes = INT))	/* vpermi2b vpermi2w */
VOP(E0F38, 66, 76, VEC(XR, WIG | L012 | C_VV | C_BCAST | KZ, .classes = INT))	/* vpermi2d vpermi2q */
VOP(E0F38, 66, 77, VEC(XR, WIG | L012 | C_VV | C_BCAST | KZ, .classes = INT))	/* vpermi2ps vpermi2pd */
VOP(E0F38, 66, 78, VEC(XR, C_W0 | L012 | KZ, .classes = INT))	/* vpbroadcastb */
VOP(E0F38, 66, 79, VEC(XR, C_W0 | L012 | KZ, .classes = INT))	/* vpbroadcastw */
VOP(E0F38, 66, 7A, VEC(GR | A_NOMEM, C_W0 | L012 | KZ, .classes = INT))	/* vpbroadcastb */
VOP(E0F38, 66, 7B, VEC(GR | A_NOMEM, C_W0 | L012 | KZ, .classes = INT))	/* vpbroadcastw */
VOP(E0F38, 66, 7C, VEC(GR | A_NOMEM, WIG | L012 | KZ, .classes = INT))	/* vpbroadcastd vpbroadcastq */
VOP(E0F38, 66, 7D, VEC(XR, WIG | L012 | C_VV | KZ, .classes = INT))	/* vpermt2b vpermt2w */
VOP(E0F38, 66, 7E, VEC(XR, WIG | L012 | C_VV | C_BCAST | KZ, .classes = INT))	/* vpermt2d vpermt2q */
VOP(E0F38, 66, 7F, VEC(XR, WIG | L012 | C_VV | C_BCAST | KZ, .classes = INT))	/* vpermt2ps vpermt2pd */
VOP(E0F38, 66, 83, VEC(XR, C_W1 | L012 | C_VV | C_BCAST | KZ, .classes = INT))	/* vpmultishiftqb */
VOP(E0F38, 66, 88, VEC(XR, WIG | L012 | KZ))	/* vexpandps vexpandpd */
VOP(E0F38, 66, 89, VEC(XR, WIG | L012 | KZ, .classes = INT))	/* vpexpandd vpexpandq */
VOP(E0F38, 66, 8A, VEC(XW, WIG | L012 | KZ))	/* vcompressps vcompresspd */
VOP(E0F38, 66, 8B, VEC(XW, WIG | L012 | KZ, .classes = INT))	/* vpcompressd vpcompressq */
VOP(E0F38, 66, 8D, VEC(XR, WIG | L012 | C_VV | KZ, .classes = INT))	/* vpermb vpermw */
VOP(E0F38, 66, 8F, VEC(XR, C_W0 | L012 | C_VV | C_REGK | C_K, .classes = INT))	/* vpshufbitqmb */
VOP(E0F38, 66, 90, VEC(GR | A_NOREG, WIG | L012 | C_K | C_KREQ | C_VSIB | C_DISTINCT))	/* vpgatherdd vpgatherdq */
VOP(E0F38, 66, 91, VEC(GR | A_NOREG, WIG | L012 | C_K | C_KREQ | C_VSIB | C_DISTINCT))	/* vpgatherqd vpgatherqq */
VOP(E0F38, 66, 92, VEC(GR | A_NOREG, WIG | L012 | C_K | C_KREQ | C_VSIB | C_DISTINCT))	/* vgatherdps vgatherdpd */
VOP(E0F38, 66, 93, VEC(GR | A_NOREG, WIG | L012 | C_K | C_KREQ | C_VSIB | C_DISTINCT))	/* vgatherqps vgatherqpd */
VOP(E0F38, 66, 96, VEC(XR, WIG | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfmaddsub132ps vfmaddsub132pd */
VOP(E0F38, 66, 97, VEC(XR, WIG | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfmsubadd132ps vfmsubadd132pd */
VOP(E0F38, 66, 98, VEC(XR, WIG | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfmadd132ps vfmadd132pd */
VOP(E0F38, 66, 99, VEC(XR, WIG | L012 | C_VV | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfmadd132ss vfmadd132sd */
VOP(E0F38, 66, 9A, VEC(XR, WIG | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfmsub132ps vfmsub132pd */
VOP(E0F38, 66, 9B, VEC(XR, WIG | L012 | C_VV | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfmsub132ss vfmsub132sd */
VOP(E0F38, 66, 9C, VEC(XR, WIG | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfnmadd132ps vfnmadd132pd */
VOP(E0F38, 66, 9D, VEC(XR, WIG | L012 | C_VV | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfnmadd132ss vfnmadd132sd */
VOP(E0F38, 66, 9E, VEC(XR, WIG | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfnmsub132ps vfnmsub132pd */
VOP(E0F38, 66, 9F, VEC(XR, WIG | L012 | C_VV | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfnmsub132ss vfnmsub132sd */
VOP(E0F38, 66, A0, VEC(GW | A_NOREG, WIG | L012 | C_K | C_KREQ | C_VSIB))	/* vpscatterdd vpscatterdq */
VOP(E0F38, 66, A1, VEC(GW | A_NOREG, WIG | L012 | C_K | C_KREQ | C_VSIB))	/* vpscatterqd vpscatterqq */
VOP(E0F38, 66, A2, VEC(GW | A_NOREG, WIG | L012 | C_K | C_KREQ | C_VSIB))	/* vscatterdps vscatterdpd */
VOP(E0F38, 66, A3, VEC(GW | A_NOREG, WIG | L012 | C_K | C_KREQ | C_VSIB))	/* vscatterqps vscatterqpd */
VOP(E0F38, 66, A6, VEC(XR, WIG | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfmaddsub213ps vfmaddsub213pd */
VOP(E0F38, 66, A7, VEC(XR, WIG | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfmsubadd213ps vfmsubadd213pd */
VOP(E0F38, 66, A8, VEC(XR, WIG | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfmadd213ps vfmadd213pd */
VOP(E0F38, 66, A9, VEC(XR, WIG | L012 | C_VV | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfmadd213ss vfmadd213sd */
VOP(E0F38, 66, AA, VEC(XR, WIG | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfmsub213ps vfmsub213pd */
VOP(E0F38, 66, AB, VEC(XR, WIG | L012 | C_VV | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfmsub213ss vfmsub213sd */
VOP(E0F38, 66, AC, VEC(XR, WIG | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfnmadd213ps vfnmadd213pd */
VOP(E0F38, 66, AD, VEC(XR, WIG | L012 | C_VV | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfnmadd213ss vfnmadd213sd */
VOP(E0F38, 66, AE, VEC(XR, WIG | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfnmsub213ps vfnmsub213pd */
VOP(E0F38, 66, AF, VEC(XR, WIG | L012 | C_VV | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfnmsub213ss vfnmsub213sd */
VOP(E0F38, 66, B4, VEC(XR, C_W1 | L012 | C_VV | C_BCAST | KZ, .classes = INT))	/* vpmadd52luq */
VOP(E0F38, 66, B5, VEC(XR, C_W1 | L012 | C_VV | C_BCAST | KZ, .classes = INT))	/* vpmadd52huq */
VOP(E0F38, 66, B6, VEC(XR, WIG | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfmaddsub231ps vfmaddsub231pd */
VOP(E0F38, 66, B7, VEC(XR, WIG | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfmsubadd231ps vfmsubadd231pd */
VOP(E0F38, 66, B8, VEC(XR, WIG | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfmadd231ps vfmadd231pd */
VOP(E0F38, 66, B9, VEC(XR, WIG | L012 | C_VV | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfmadd231ss vfmadd231sd */
VOP(E0F38, 66, BA, VEC(XR, WIG | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfmsub231ps vfmsub231pd */
VOP(E0F38, 66, BB, VEC(XR, WIG | L012 | C_VV | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfmsub231ss vfmsub231sd */
VOP(E0F38, 66, BC, VEC(XR, WIG | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfnmadd231ps vfnmadd231pd */
VOP(E0F38, 66, BD, VEC(XR, WIG | L012 | C_VV | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfnmadd231ss vfnmadd231sd */
VOP(E0F38, 66, BE, VEC(XR, WIG | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfnmsub231ps vfnmsub231pd */
VOP(E0F38, 66, BF, VEC(XR, WIG | L012 | C_VV | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfnmsub231ss vfnmsub231sd */
VOP(E0F38, 66, C4, VEC(XR, WIG | L012 | C_BCAST | KZ, .classes = INT))	/* vpconflictd vpconflictq */
VOP(E0F38, 66, C6, STEP(K_REG, 1))	/* vgatherpf0dps vgatherpf1dps vscatterpf0dps vscatterpf1dps vgatherpf0dpd vgatherpf1dpd vscatterpf0dpd vscatterpf1dpd */
VROW(NONE)
VROW(VEC(GR | A_NOREG, WIG | C_L2 | C_K | C_KREQ | C_VSIB))
VROW(VEC(GR | A_NOREG, WIG | C_L2 | C_K | C_KREQ | C_VSIB))
VROW(NONE)
VROW(NONE)
VROW(VEC(GR | A_NOREG, WIG | C_L2 | C_K | C_KREQ | C_VSIB))
VROW(VEC(GR | A_NOREG, WIG | C_L2 | C_K | C_KREQ | C_VSIB))
VROW(NONE)
VOP(E0F38, 66, C7, STEP(K_REG, 1))	/* vgatherpf0qps vgatherpf1qps vscatterpf0qps vscatterpf1qps vgatherpf0qpd vgatherpf1qpd vscatterpf0qpd vscatterpf1qpd */
VROW(NONE)
VROW(VEC(GR | A_NOREG, WIG | C_L2 | C_K | C_KREQ | C_VSIB))
VROW(VEC(GR | A_NOREG, WIG | C_L2 | C_K | C_KREQ | C_VSIB))
VROW(NONE)
VROW(NONE)
VROW(VEC(GR | A_NOREG, WIG | C_L2 | C_K | C_KREQ | C_VSIB))
VROW(VEC(GR | A_NOREG, WIG | C_L2 | C_K | C_KREQ | C_VSIB))
VROW(NONE)
VOP(E0F38, 66, C8, VEC(XR, WIG | C_L2 | C_BCAST | C_ER | KZ, .classes = FP))	/* vexp2ps vexp2pd */
VOP(E0F38, 66, CA, VEC(XR, WIG | C_L2 | C_BCAST | C_ER | KZ, .classes = FP))	/* vrcp28ps vrcp28pd */
VOP(E0F38, 66, CB, VEC(XR, WIG | L012 | C_VV | C_ER | KZ, .classes = FP))	/* vrcp28ss vrcp28sd */
VOP(E0F38, 66, CC, VEC(XR, WIG | C_L2 | C_BCAST | C_ER | KZ, .classes = FP))	/* vrsqrt28ps vrsqrt28pd */
VOP(E0F38, 66, CD, VEC(XR, WIG | L012 | C_VV | C_ER | KZ, .classes = FP))	/* vrsqrt28ss vrsqrt28sd */
VOP(E0F38, 66, CF, VEC(XR, C_W0 | L012 | C_VV | KZ, .classes = INT))	/* vgf2p8mulb */
VOP(E0F38, 66, DC, VEC(XR, WIG | L012 | C_VV, .classes = INT))	/* vaesenc */
VOP(E0F38, 66, DD, VEC(XR, WIG | L012 | C_VV, .classes = INT))	/* vaesenclast */
VOP(E0F38, 66, DE, VEC(XR, WIG | L012 | C_VV, .classes = INT))	/* vaesdec */
VOP(E0F38, 66, DF, VEC(XR, WIG | L012 | C_VV, .classes = INT))	/* vaesdeclast */
VOP(E0F38, F3, 10, VEC(XW, C_W0 | L012 | KZ, .classes = INT))	/* vpmovuswb */
VOP(E0F38, F3, 11, VEC(XW, C_W0 | L012 | KZ, .classes = INT))	/* vpmovusdb */
VOP(E0F38, F3, 12, VEC(XW, C_W0 | L012 | KZ, .classes = INT))	/* vpmovusqb */
VOP(E0F38, F3, 13, VEC(XW, C_W0 | L012 | KZ, .classes = INT))	/* vpmovusdw */
VOP(E0F38, F3, 14, VEC(XW, C_W0 | L012 | KZ, .classes = INT))	/* vpmovusqw */
VOP(E0F38, F3, 15, VEC(XW, C_W0 | L012 | KZ, .classes = INT))	/* vpmovusqd */
VOP(E0F38, F3, 20, VEC(XW, C_W0 | L012 | KZ, .classes = INT))	/* vpmovswb */
VOP(E0F38, F3, 21, VEC(XW, C_W0 | L012 | KZ, .classes = INT))	/* vpmovsdb */
VOP(E0F38, F3, 22, VEC(XW, C_W0 | L012 | KZ, .classes = INT))	/* vpmovsqb */
VOP(E0F38, F3, 23, VEC(XW, C_W0 | L012 | KZ, .classes = INT))	/* vpmovsdw */
VOP(E0F38, F3, 24, VEC(XW, C_W0 | L012 | KZ, .classes = INT))	/* vpmovsqw */
VOP(E0F38, F3, 25, VEC(XW, C_W0 | L012 | KZ, .classes = INT))	/* vpmovsqd */
VOP(E0F38, F3, 26, VEC(XR, WIG | L012 | C_VV | C_REGK | C_K, .classes = INT))	/* vptestnmb vptestnmw */
VOP(E0F38, F3, 27, VEC(XR, WIG | L012 | C_VV | C_REGK | C_BCAST | C_K, .classes = INT))	/* vptestnmd vptestnmq */
VOP(E0F38, F3, 28, VEC(XR | A_NOMEM, WIG | L012, .classes = INT))	/* vpmovm2b vpmovm2w */
VOP(E0F38, F3, 29, VEC(XR | A_NOMEM, WIG | L012 | C_REGK, .classes = INT))	/* vpmovb2m vpmovw2m */
VOP(E0F38, F3, 2A, VEC(XR | A_NOMEM, C_W1 | L012, .classes = INT))	/* vpbroadcastmb2q */
VOP(E0F38, F3, 30, VEC(XW, C_W0 | L012 | KZ, .classes = INT))	/* vpmovwb */
VOP(E0F38, F3, 31, VEC(XW, C_W0 | L012 | KZ, .classes = INT))	/* vpmovdb */
VOP(E0F38, F3, 32, VEC(XW, C_W0 | L012 | KZ, .classes = INT))	/* vpmovqb */
VOP(E0F38, F3, 33, VEC(XW, C_W0 | L012 | KZ, .classes = INT))	/* vpmovdw */
VOP(E0F38, F3, 34, VEC(XW, C_W0 | L012 | KZ, .classes = INT))	/* vpmovqw */
VOP(E0F38, F3, 35, VEC(XW, C_W0 | L012 | KZ, .classes = INT))	/* vpmovqd */
VOP(E0F38, F3, 38, VEC(XR | A_NOMEM, WIG | L012, .classes = INT))	/* vpmovm2d vpmovm2q */
VOP(E0F38, F3, 39, VEC(XR | A_NOMEM, WIG | L012 | C_REGK, .classes = INT))	/* vpmovd2m vpmovq2m */
VOP(E0F38, F3, 3A, VEC(XR | A_NOMEM, C_W0 | L012, .classes = INT))	/* vpbroadcastmw2d */
VOP(E0F38, F3, 52, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | KZ, .classes = FP | CLASS_MUL_FP))	/* vdpbf16ps */
VOP(E0F38, F3, 72, VEC(XR, C_W0 | L012 | C_BCAST | KZ, .classes = FP))	/* vcvtneps2bf16 */
VOP(E0F38, F2, 52, VEC(GR | A_NOREG, C_W0 | C_L2 | C_VV | KZ, .classes = INT))	/* vp4dpwssd */
VOP(E0F38, F2, 53, VEC(GR | A_NOREG, C_W0 | C_L2 | C_VV | KZ, .classes = INT))	/* vp4dpwssds */
VOP(E0F38, F2, 68, VEC(XR, WIG | L012 | C_VV | C_REGK | C_BCAST, .classes = INT))	/* vp2intersectd vp2intersectq */
VOP(E0F38, F2, 72, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | KZ, .classes = FP))	/* vcvtne2ps2bf16 */
VOP(E0F38, F2, 9A, VEC(GR | A_NOREG, C_W0 | C_L2 | C_VV | KZ, .classes = FP | CLASS_MUL_FP))	/* v4fmaddps */
VOP(E0F38, F2, 9B, VEC(GR | A_NOREG, C_W0 | L012 | C_VV | KZ, .classes = FP | CLASS_MUL_FP))	/* v4fmaddss */
VOP(E0F38, F2, AA, VEC(GR | A_NOREG, C_W0 | C_L2 | C_VV | KZ, .classes = FP | CLASS_MUL_FP))	/* v4fnmaddps */
VOP(E0F38, F2, AB, VEC(GR | A_NOREG, C_W0 | L012 | C_VV | KZ, .classes = FP | CLASS_MUL_FP))	/* v4fnmaddss */
VOP(E0F3A, NP, 08, VEC(XR | IB, C_W0 | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vrndscaleph */
VOP(E0F3A, NP, 0A, VEC(XR | IB, C_W0 | L012 | C_VV | C_ER | KZ, .classes = FP))	/* vrndscalesh */
VOP(E0F3A, NP, 26, VEC(XR | IB, C_W0 | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vgetmantph */
VOP(E0F3A, NP, 27, VEC(XR | IB, C_W0 | L012 | C_VV | C_ER | KZ, .classes = FP))	/* vgetmantsh */
VOP(E0F3A, NP, 56, VEC(XR | IB, C_W0 | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vreduceph */
VOP(E0F3A, NP, 57, VEC(XR | IB, C_W0 | L012 | C_VV | C_ER | KZ, .classes = FP))	/* vreducesh */
VOP(E0F3A, NP, 66, VEC(XR | IB, C_W0 | L012 | C_REGK | C_BCAST | C_K, .classes = FP))	/* vfpclassph */
VOP(E0F3A, NP, 67, VEC(XR | IB, C_W0 | L012 | C_REGK | C_K, .classes = FP))	/* vfpclasssh */
VOP(E0F3A, NP, C2, VEC(XR | IB, C_W0 | L012 | C_VV | C_REGK | C_BCAST | C_ER | C_K, .classes = FP))	/* vcmpph */
VOP(E0F3A, 66, 00, VEC(XR | IB, C_W1 | L12 | C_BCAST | KZ, .classes = INT))	/* vpermq */
VOP(E0F3A, 66, 01, VEC(XR | IB, C_W1 | L12 | C_BCAST | KZ, .classes = INT))	/* vpermpd */
VOP(E0F3A, 66, 03, VEC(XR | IB, WIG | L012 | C_VV | C_BCAST | KZ))	/* valignd valignq */
VOP(E0F3A, 66, 04, VEC(XR | IB, C_W0 | L012 | C_BCAST | KZ, .classes = INT))	/* vpermilps */
VOP(E0F3A, 66, 05, VEC(XR | IB, C_W1 | L012 | C_BCAST | KZ, .classes = INT))	/* vpermilpd */
VOP(E0F3A, 66, 08, VEC(XR | IB, C_W0 | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vrndscaleps */
VOP(E0F3A, 66, 09, VEC(XR | IB, C_W1 | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vrndscalepd */
VOP(E0F3A, 66, 0A, VEC(XR | IB, C_W0 | L012 | C_VV | C_ER | KZ, .classes = FP))	/* vrndscaless */
VOP(E0F3A, 66, 0B, VEC(XR | IB, C_W1 | L012 | C_VV | C_ER | KZ, .classes = FP))	/* vrndscalesd */
VOP(E0F3A, 66, 0F, VEC(XR | IB, WIG | L012 | C_VV | KZ, .classes = INT))	/* vpalignr */
VOP(E0F3A, 66, 14, VEC(GW | IB, WIG | C_L0, .classes = INT))	/* vpextrb */
VOP(E0F3A, 66, 15, VEC(GW | IB, WIG | C_L0, .classes = INT))	/* vpextrw */
VOP(E0F3A, 66, 16, VEC(GW | IB, WIG | C_L0, .classes = INT))	/* vpextrd vpextrq */
VOP(E0F3A, 66, 17, VEC(GW | IB, WIG | C_L0))	/* vextractps */
VOP(E0F3A, 66, 18, VEC(XR | IB, WIG | L12 | C_VV | KZ))	/* vinsertf32x4 vinsertf64x2 */
VOP(E0F3A, 66, 19, VEC(XW | IB, WIG | L12 | KZ))	/* vextractf32x4 vextractf64x2 */
VOP(E0F3A, 66, 1A, VEC(XR | IB, WIG | C_L2 | C_VV | KZ))	/* vinsertf32x8 vinsertf64x4 */
VOP(E0F3A, 66, 1B, VEC(XW | IB, WIG | C_L2 | KZ))	/* vextractf32x8 vextractf64x4 */
VOP(E0F3A, 66, 1D, VEC(XW | IB, C_W0 | L012 | C_ER | KZ, .classes = FP))	/* vcvtps2ph */
VOP(E0F3A, 66, 1E, VEC(XR | IB, WIG | L012 | C_VV | C_REGK | C_BCAST | C_K, .classes = INT))	/* vpcmpud vpcmpuq */
VOP(E0F3A, 66, 1F, VEC(XR | IB, WIG | L012 | C_VV | C_REGK | C_BCAST | C_K, .classes = INT))	/* vpcmpd vpcmpq */
VOP(E0F3A, 66, 20, VEC(GR | IB, WIG | C_L0 | C_VV, .classes = INT))	/* vpinsrb */
VOP(E0F3A, 66, 21, VEC(XR | IB, C_W0 | C_L0 | C_VV))	/* vinsertps */
VOP(E0F3A, 66, 22, VEC(GR | IB, WIG | C_L0 | C_VV, .classes = INT))	/* vpinsrd vpinsrq */
VOP(E0F3A, 66, 23, VEC(XR | IB, WIG | L12 | C_VV | C_BCAST | KZ))	/* vshuff32x4 vshuff64x2 */
VOP(E0F3A, 66, 25, VEC(XR | IB, WIG | L012 | C_VV | C_BCAST | KZ, .classes = INT))	/* vpternlogd vpternlogq */
VOP(E0F3A, 66, 26, VEC(XR | IB, WIG | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vgetmantps vgetmantpd */
VOP(E0F3A, 66, 27, VEC(XR | IB, WIG | L012 | C_VV | C_ER | KZ, .classes = FP))	/* vgetmantss vgetmantsd */
VOP(E0F3A, 66, 38, VEC(XR | IB, WIG | L12 | C_VV | KZ))	/* vinserti32x4 vinserti64x2 */
VOP(E0F3A, 66, 39, VEC(XW | IB, WIG | L12 | KZ))	/* vextracti32x4 vextracti64x2 */
VOP(E0F3A, 66, 3A, VEC(XR | IB, WIG | C_L2 | C_VV | KZ))	/* vinserti32x8 vinserti64x4 */
VOP(E0F3A, 66, 3B, VEC(XW | IB, WIG | C_L2 | KZ))	/* vextracti32x8 vextracti64x4 */
VOP(E0F3A, 66, 3E, VEC(XR | IB, WIG | L012 | C_VV | C_REGK | C_K, .classes = INT))	/* vpcmpub vpcmpuw */
VOP(E0F3A, 66, 3F, VEC(XR | IB, WIG | L012 | C_VV | C_REGK | C_K, .classes = INT))	/* vpcmpb vpcmpw */
VOP(E0F3A, 66, 42, VEC(XR | IB, C_W0 | L012 | C_VV | KZ, .classes = INT))	/* vdbpsadbw */
VOP(E0F3A, 66, 43, VEC(XR | IB, WIG | L12 | C_VV | C_BCAST | KZ))	/* vshufi32x4 vshufi64x2 */
VOP(E0F3A, 66, 44, VEC(XR | IB, WIG | L012 | C_VV, .classes = INT))	/* vpclmulqdq */
VOP(E0F3A, 66, 50, VEC(XR | IB, WIG | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP))	/* vrangeps vrangepd */
VOP(E0F3A, 66, 51, VEC(XR | IB, WIG | L012 | C_VV | C_ER | KZ, .classes = FP))	/* vrangess vrangesd */
VOP(E0F3A, 66, 54, VEC(XR | IB, WIG | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP))	/* vfixupimmps vfixupimmpd */
VOP(E0F3A, 66, 55, VEC(XR | IB, WIG | L012 | C_VV | C_ER | KZ, .classes = FP))	/* vfixupimmss vfixupimmsd */
VOP(E0F3A, 66, 56, VEC(XR | IB, WIG | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vreduceps vreducepd */
VOP(E0F3A, 66, 57, VEC(XR | IB, WIG | L012 | C_VV | C_ER | KZ, .classes = FP))	/* vreducess vreducesd */
VOP(E0F3A, 66, 66, VEC(XR | IB, WIG | L012 | C_REGK | C_BCAST | C_K, .classes = FP))	/* vfpclassps vfpclasspd */
VOP(E0F3A, 66, 67, VEC(XR | IB, WIG | L012 | C_REGK | C_K, .classes = FP))	/* vfpclassss vfpclasssd */
VOP(E0F3A, 66, 70, VEC(XR | IB, C_W1 | L012 | C_VV | KZ, .classes = INT))	/* vpshldw */
VOP(E0F3A, 66, 71, VEC(XR | IB, WIG | L012 | C_VV | C_BCAST | KZ, .classes = INT))	/* vpshldd vpshldq */
VOP(E0F3A, 66, 72, VEC(XR | IB, C_W1 | L012 | C_VV | KZ, .classes = INT))	/* vpshrdw */
VOP(E0F3A, 66, 73, VEC(XR | IB, WIG | L012 | C_VV | C_BCAST | KZ, .classes = INT))	/* vpshrdd vpshrdq */
VOP(E0F3A, 66, CE, VEC(XR | IB, C_W1 | L012 | C_VV | C_BCAST | KZ, .classes = INT))	/* vgf2p8affineqb */
VOP(E0F3A, 66, CF, VEC(XR | IB, C_W1 | L012 | C_VV | C_BCAST | KZ, .classes = INT))	/* vgf2p8affineinvqb */
VOP(E0F3A, F3, C2, VEC(XR | IB, C_W0 | L012 | C_VV | C_REGK | C_ER | C_K, .classes = FP))	/* vcmpsh */
VOP(E5, NP, 1D, VEC(XR, C_W0 | L012 | C_VV | C_ER | KZ, .classes = FP))	/* vcvtss2sh */
VOP(E5, NP, 2E, VEC(XR, C_W0 | L012 | C_ER, .classes = FP, .flags = F_ALL))	/* vucomish */
VOP(E5, NP, 2F, VEC(XR, C_W0 | L012 | C_ER, .classes = FP, .flags = F_ALL))	/* vcomish */
VOP(E5, NP, 51, VEC(XR, C_W0 | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vsqrtph */
VOP(E5, NP, 58, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP))	/* vaddph */
VOP(E5, NP, 59, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vmulph */
VOP(E5, NP, 5A, VEC(XR, C_W0 | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vcvtph2pd */
VOP(E5, NP, 5B, VEC(XR, WIG | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vcvtdq2ph vcvtqq2ph */
VOP(E5, NP, 5C, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP))	/* vsubph */
VOP(E5, NP, 5D, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP))	/* vminph */
VOP(E5, NP, 5E, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP | CLASS_DIV_FP))	/* vdivph */
VOP(E5, NP, 5F, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP))	/* vmaxph */
VOP(E5, NP, 78, VEC(XR, C_W0 | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vcvttph2udq */
VOP(E5, NP, 79, VEC(XR, C_W0 | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vcvtph2udq */
VOP(E5, NP, 7C, VEC(XR, C_W0 | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vcvttph2uw */
VOP(E5, NP, 7D, VEC(XR, C_W0 | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vcvtph2uw */
VOP(E5, 66, 1D, VEC(XR, C_W0 | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vcvtps2phx */
VOP(E5, 66, 5A, VEC(XR, C_W1 | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vcvtpd2ph */
VOP(E5, 66, 5B, VEC(XR, C_W0 | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vcvtph2dq */
VOP(E5, 66, 6E, VEC(GR, WIG | C_L0))	/* vmovw */
VOP(E5, 66, 78, VEC(XR, C_W0 | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vcvttph2uqq */
VOP(E5, 66, 79, VEC(XR, C_W0 | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vcvtph2uqq */
VOP(E5, 66, 7A, VEC(XR, C_W0 | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vcvttph2qq */
VOP(E5, 66, 7B, VEC(XR, C_W0 | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vcvtph2qq */
VOP(E5, 66, 7C, VEC(XR, C_W0 | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vcvttph2w */
VOP(E5, 66, 7D, VEC(XR, C_W0 | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vcvtph2w */
VOP(E5, 66, 7E, VEC(GW, WIG | C_L0))	/* vmovw */
VOP(E5, F3, 10, STEP(K_MOD, 1))	/* vmovsh */
VROW(VEC(GR, C_W0 | L012 | KZ))
VROW(VEC(XR, C_W0 | L012 | C_VV | KZ))
VOP(E5, F3, 11, STEP(K_MOD, 1))	/* vmovsh */
VROW(VEC(GW, C_W0 | L012 | C_K))
VROW(VEC(XW, C_W0 | L012 | C_VV | KZ))
VOP(E5, F3, 2A, VEC(GR, WIG | L012 | C_VV | C_ER, .classes = FP))	/* vcvtsi2sh */
VOP(E5, F3, 2C, VEC(XR | A_REG_W, WIG | L012 | C_ER, .classes = FP))	/* vcvttsh2si */
VOP(E5, F3, 2D, VEC(XR | A_REG_W, WIG | L012 | C_ER, .classes = FP))	/* vcvtsh2si */
VOP(E5, F3, 51, VEC(XR, C_W0 | L012 | C_VV | C_ER | KZ, .classes = FP))	/* vsqrtsh */
VOP(E5, F3, 58, VEC(XR, C_W0 | L012 | C_VV | C_ER | KZ, .classes = FP))	/* vaddsh */
VOP(E5, F3, 59, VEC(XR, C_W0 | L012 | C_VV | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vmulsh */
VOP(E5, F3, 5A, VEC(XR, C_W0 | L012 | C_VV | C_ER | KZ, .classes = FP))	/* vcvtsh2sd */
VOP(E5, F3, 5B, VEC(XR, C_W0 | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vcvttph2dq */
VOP(E5, F3, 5C, VEC(XR, C_W0 | L012 | C_VV | C_ER | KZ, .classes = FP))	/* vsubsh */
VOP(E5, F3, 5D, VEC(XR, C_W0 | L012 | C_VV | C_ER | KZ, .classes = FP))	/* vminsh */
VOP(E5, F3, 5E, VEC(XR, C_W0 | L012 | C_VV | C_ER | KZ, .classes = FP | CLASS_DIV_FP))	/* vdivsh */
VOP(E5, F3, 5F, VEC(XR, C_W0 | L012 | C_VV | C_ER | KZ, .classes = FP))	/* vmaxsh */
VOP(E5, F3, 78, VEC(XR | A_REG_W, WIG | L012 | C_ER, .classes = FP))	/* vcvttsh2usi */
VOP(E5, F3, 79, VEC(XR | A_REG_W, WIG | L012 | C_ER, .classes = FP))	/* vcvtsh2usi */
VOP(E5, F3, 7B, VEC(GR, WIG | L012 | C_VV | C_ER, .classes = FP))	/* vcvtusi2sh */
VOP(E5, F3, 7D, VEC(XR, C_W0 | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vcvtw2ph */
VOP(E5, F2, 5A, VEC(XR, C_W1 | L012 | C_VV | C_ER | KZ, .classes = FP))	/* vcvtsd2sh */
VOP(E5, F2, 7A, VEC(XR, WIG | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vcvtudq2ph vcvtuqq2ph */
VOP(E5, F2, 7D, VEC(XR, C_W0 | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vcvtuw2ph */
VOP(E6, NP, 13, VEC(XR, C_W0 | L012 | C_VV | C_ER | KZ, .classes = FP))	/* vcvtsh2ss */
VOP(E6, 66, 13, VEC(XR, C_W0 | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vcvtph2psx */
VOP(E6, 66, 2C, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP))	/* vscalefph */
VOP(E6, 66, 2D, VEC(XR, C_W0 | L012 | C_VV | C_ER | KZ, .classes = FP))	/* vscalefsh */
VOP(E6, 66, 42, VEC(XR, C_W0 | L012 | C_BCAST | C_ER | KZ, .classes = FP))	/* vgetexpph */
VOP(E6, 66, 43, VEC(XR, C_W0 | L012 | C_VV | C_ER | KZ, .classes = FP))	/* vgetexpsh */
VOP(E6, 66, 4C, VEC(XR, C_W0 | L012 | C_BCAST | KZ, .classes = FP))	/* vrcpph */
VOP(E6, 66, 4D, VEC(XR, C_W0 | L012 | C_VV | KZ, .classes = FP))	/* vrcpsh */
VOP(E6, 66, 4E, VEC(XR, C_W0 | L012 | C_BCAST | KZ, .classes = FP))	/* vrsqrtph */
VOP(E6, 66, 4F, VEC(XR, C_W0 | L012 | C_VV | KZ, .classes = FP))	/* vrsqrtsh */
VOP(E6, 66, 96, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfmaddsub132ph */
VOP(E6, 66, 97, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfmsubadd132ph */
VOP(E6, 66, 98, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfmadd132ph */
VOP(E6, 66, 99, VEC(XR, C_W0 | L012 | C_VV | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfmadd132sh */
VOP(E6, 66, 9A, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfmsub132ph */
VOP(E6, 66, 9B, VEC(XR, C_W0 | L012 | C_VV | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfmsub132sh */
VOP(E6, 66, 9C, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfnmadd132ph */
VOP(E6, 66, 9D, VEC(XR, C_W0 | L012 | C_VV | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfnmadd132sh */
VOP(E6, 66, 9E, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfnmsub132ph */
VOP(E6, 66, 9F, VEC(XR, C_W0 | L012 | C_VV | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfnmsub132sh */
VOP(E6, 66, A6, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfmaddsub213ph */
VOP(E6, 66, A7, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfmsubadd213ph */
VOP(E6, 66, A8, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfmadd213ph */
VOP(E6, 66, A9, VEC(XR, C_W0 | L012 | C_VV | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfmadd213sh */
VOP(E6, 66, AA, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfmsub213ph */
VOP(E6, 66, AB, VEC(XR, C_W0 | L012 | C_VV | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfmsub213sh */
VOP(E6, 66, AC, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfnmadd213ph */
VOP(E6, 66, AD, VEC(XR, C_W0 | L012 | C_VV | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfnmadd213sh */
VOP(E6, 66, AE, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfnmsub213ph */
VOP(E6, 66, AF, VEC(XR, C_W0 | L012 | C_VV | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfnmsub213sh */
VOP(E6, 66, B6, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfmaddsub231ph */
VOP(E6, 66, B7, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfmsubadd231ph */
VOP(E6, 66, B8, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfmadd231ph */
VOP(E6, 66, B9, VEC(XR, C_W0 | L012 | C_VV | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfmadd231sh */
VOP(E6, 66, BA, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfmsub231ph */
VOP(E6, 66, BB, VEC(XR, C_W0 | L012 | C_VV | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfmsub231sh */
VOP(E6, 66, BC, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfnmadd231ph */
VOP(E6, 66, BD, VEC(XR, C_W0 | L012 | C_VV | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfnmadd231sh */
VOP(E6, 66, BE, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfnmsub231ph */
VOP(E6, 66, BF, VEC(XR, C_W0 | L012 | C_VV | C_ER | KZ, .classes = FP | CLASS_MUL_FP))	/* vfnmsub231sh */
VOP(E6, F3, 56, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | C_ER | KZ | C_DISTINCT, .classes = FP | CLASS_MUL_FP))	/* vfmaddcph */
VOP(E6, F3, 57, VEC(XR, C_W0 | L012 | C_VV | C_ER | KZ | C_DISTINCT, .classes = FP | CLASS_MUL_FP))	/* vfmaddcsh */
VOP(E6, F3, D6, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | C_ER | KZ | C_DISTINCT, .classes = FP | CLASS_MUL_FP))	/* vfmulcph */
VOP(E6, F3, D7, VEC(XR, C_W0 | L012 | C_VV | C_ER | KZ | C_DISTINCT, .classes = FP | CLASS_MUL_FP))	/* vfmulcsh */
VOP(E6, F2, 56, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | C_ER | KZ | C_DISTINCT, .classes = FP | CLASS_MUL_FP))	/* vfcmaddcph */
VOP(E6, F2, 57, VEC(XR, C_W0 | L012 | C_VV | C_ER | KZ | C_DISTINCT, .classes = FP | CLASS_MUL_FP))	/* vfcmaddcsh */
VOP(E6, F2, D6, VEC(XR, C_W0 | L012 | C_VV | C_BCAST | C_ER | KZ | C_DISTINCT, .classes = FP | CLASS_MUL_FP))	/* vfcmulcph */
VOP(E6, F2, D7, VEC(XR, C_W0 | L012 | C_VV | C_ER | KZ | C_DISTINCT, .classes = FP | CLASS_MUL_FP))	/* vfcmulcsh */
VOP(X8, NP, 85, VEC(XR | A_IMM(I_IS4), C_W0 | C_L0 | C_VV, .classes = INT))	/* vpmacssww */
VOP(X8, NP, 86, VEC(XR | A_IMM(I_IS4), C_W0 | C_L0 | C_VV, .classes = INT))	/* vpmacsswd */
VOP(X8, NP, 87, VEC(XR | A_IMM(I_IS4), C_W0 | C_L0 | C_VV, .classes = INT))	/* vpmacssdql */
VOP(X8, NP, 8E, VEC(XR | A_IMM(I_IS4), C_W0 | C_L0 | C_VV, .classes = INT))	/* vpmacssdd */
VOP(X8, NP, 8F, VEC(XR | A_IMM(I_IS4), C_W0 | C_L0 | C_VV, .classes = INT))	/* vpmacssdqh */
VOP(X8, NP, 95, VEC(XR | A_IMM(I_IS4), C_W0 | C_L0 | C_VV, .classes = INT))	/* vpmacsww */
VOP(X8, NP, 96, VEC(XR | A_IMM(I_IS4), C_W0 | C_L0 | C_VV, .classes = INT))	/* vpmacswd */
VOP(X8, NP, 97, VEC(XR | A_IMM(I_IS4), C_W0 | C_L0 | C_VV, .classes = INT))	/* vpmacsdql */
VOP(X8, NP, 9E, VEC(XR | A_IMM(I_IS4), C_W0 | C_L0 | C_VV, .classes = INT))	/* vpmacsdd */
VOP(X8, NP, 9F, VEC(XR | A_IMM(I_IS4), C_W0 | C_L0 | C_VV, .classes = INT))	/* vpmacsdqh */
VOP(X8, NP, A2, VEC(XR | A_IMM(I_IS4), WIG | L01 | C_VV, .classes = INT))	/* vpcmov */
VOP(X8, NP, A3, VEC(XR | A_IMM(I_IS4), WIG | C_L0 | C_VV, .classes = INT))	/* vpperm */
VOP(X8, NP, A6, VEC(XR | A_IMM(I_IS4), C_W0 | C_L0 | C_VV, .classes = INT))	/* vpmadcsswd */
VOP(X8, NP, B6, VEC(XR | A_IMM(I_IS4), C_W0 | C_L0 | C_VV, .classes = INT))	/* vpmadcswd */
VOP(X8, NP, C0, VEC(XR | IB, C_W0 | C_L0, .classes = INT))	/* vprotb */
VOP(X8, NP, C1, VEC(XR | IB, C_W0 | C_L0, .classes = INT))	/* vprotw */
VOP(X8, NP, C2, VEC(XR | IB, C_W0 | C_L0, .classes = INT))	/* vprotd */
VOP(X8, NP, C3, VEC(XR | IB, C_W0 | C_L0, .classes = INT))	/* vprotq */
VOP(X8, NP, CC, VEC(XR | IB, C_W0 | C_L0 | C_VV, .classes = INT))	/* vpcomb */
VOP(X8, NP, CD, VEC(XR | IB, C_W0 | C_L0 | C_VV, .classes = INT))	/* vpcomw */
VOP(X8, NP, CE, VEC(XR | IB, C_W0 | C_L0 | C_VV, .classes = INT))	/* vpcomd */
VOP(X8, NP, CF, VEC(XR | IB, C_W0 | C_L0 | C_VV, .classes = INT))	/* vpcomq */
VOP(X8, NP, EC, VEC(XR | IB, C_W0 | C_L0 | C_VV, .classes = INT))	/* vpcomub */
VOP(X8, NP, ED, VEC(XR | IB, C_W0 | C_L0 | C_VV, .classes = INT))	/* vpcomuw */
VOP(X8, NP, EE, VEC(XR | IB, C_W0 | C_L0 | C_VV, .classes = INT))	/* vpcomud */
VOP(X8, NP, EF, VEC(XR | IB, C_W0 | C_L0 | C_VV, .classes = INT))	/* vpcomuq */
VOP(X9, NP, 01, STEP(K_REG, 1))	/* blcfill blsfill blcs tzmsk blcic blsic t1mskc */
VROW(NONE)
VROW(VEC(GR | A_VV_W, WIG | C_L0 | C_VV, .flags = F_BITS))
VROW(VEC(GR | A_VV_W, WIG | C_L0 | C_VV, .flags = F_BITS))
VROW(VEC(GR | A_VV_W, WIG | C_L0 | C_VV, .flags = F_BITS))
VROW(VEC(GR | A_VV_W, WIG | C_L0 | C_VV, .flags = F_BITS))
VROW(VEC(GR | A_VV_W, WIG | C_L0 | C_VV, .flags = F_BITS))
VROW(VEC(GR | A_VV_W, WIG | C_L0 | C_VV, .flags = F_BITS))
VROW(VEC(GR | A_VV_W, WIG | C_L0 | C_VV, .flags = F_BITS))
VOP(X9, NP, 02, STEP(K_REG, 1))	/* blcmsk blci */
VROW(NONE)
VROW(VEC(GR | A_VV_W, WIG | C_L0 | C_VV, .flags = F_BITS))
VROW(NONE)
VROW(NONE)
VROW(NONE)
VROW(NONE)
VROW(VEC(GR | A_VV_W, WIG | C_L0 | C_VV, .flags = F_BITS))
VROW(NONE)
VOP(X9, NP, 12, STEP(K_REG, 1))	/* llwpcb slwpcb */
VROW(VEC(GW | A_NOMEM, WIG | C_L0))
VROW(VEC(GW | A_NOMEM, WIG | C_L0))
VROW(NONE)
VROW(NONE)
VROW(NONE)
VROW(NONE)
VROW(NONE)
VROW(NONE)
VOP(X9, NP, 80, VEC(XR, C_W0 | L01, .classes = FP))	/* vfrczps */
VOP(X9, NP, 81, VEC(XR, C_W0 | L01, .classes = FP))	/* vfrczpd */
VOP(X9, NP, 82, VEC(XR, C_W0 | C_L0, .classes = FP))	/* vfrczss */
VOP(X9, NP, 83, VEC(XR, C_W0 | C_L0, .classes = FP))	/* vfrczsd */
VOP(X9, NP, 90, VEC(XR, WIG | C_L0 | C_VV, .classes = INT))	/* vprotb */
VOP(X9, NP, 91, VEC(XR, WIG | C_L0 | C_VV, .classes = INT))	/* vprotw */
VOP(X9, NP, 92, VEC(XR, WIG | C_L0 | C_VV, .classes = INT))	/* vprotd */
VOP(X9, NP, 93, VEC(XR, WIG | C_L0 | C_VV, .classes = INT))	/* vprotq */
VOP(X9, NP, 94, VEC(XR, WIG | C_L0 | C_VV, .classes = INT))	/* vpshlb */
VOP(X9, NP, 95, VEC(XR, WIG | C_L0 | C_VV, .classes = INT))	/* vpshlw */
VOP(X9, NP, 96, VEC(XR, WIG | C_L0 | C_VV, .classes = INT))	/* vpshld */
VOP(X9, NP, 97, VEC(XR, WIG | C_L0 | C_VV, .classes = INT))	/* vpshlq */
VOP(X9, NP, 98, VEC(XR, WIG | C_L0 | C_VV, .classes = INT))	/* vpshab */
VOP(X9, NP, 99, VEC(XR, WIG | C_L0 | C_VV, .classes = INT))	/* vpshaw */
VOP(X9, NP, 9A, VEC(XR, WIG | C_L0 | C_VV, .classes = INT))	/* vpshad */
VOP(X9, NP, 9B, VEC(XR, WIG | C_L0 | C_VV, .classes = INT))	/* vpshaq */
VOP(X9, NP, C1, VEC(XR, C_W0 | C_L0, .classes = INT))	/* vphaddbw */
VOP(X9, NP, C2, VEC(XR, C_W0 | C_L0, .classes = INT))	/* vphaddbd */
VOP(X9, NP, C3, VEC(XR, C_W0 | C_L0, .classes = INT))	/* vphaddbq */
VOP(X9, NP, C6, VEC(XR, C_W0 | C_L0, .classes = INT))	/* vphaddwd */
VOP(X9, NP, C7, VEC(XR, C_W0 | C_L0, .classes = INT))	/* vphaddwq */
VOP(X9, NP, CB, VEC(XR, C_W0 | C_L0, .classes = INT))	/* vphadddq */
VOP(X9, NP, D1, VEC(XR, C_W0 | C_L0, .classes = INT))	/* vphaddubw */
VOP(X9, NP, D2, VEC(XR, C_W0 | C_L0, .classes = INT))	/* vphaddubd */
VOP(X9, NP, D3, VEC(XR, C_W0 | C_L0, .classes = INT))	/* vphaddubq */
VOP(X9, NP, D6, VEC(XR, C_W0 | C_L0, .classes = INT))	/* vphadduwd */
VOP(X9, NP, D7, VEC(XR, C_W0 | C_L0, .classes = INT))	/* vphadduwq */
VOP(X9, NP, DB, VEC(XR, C_W0 | C_L0, .classes = INT))	/* vphaddudq */
VOP(X9, NP, E1, VEC(XR, C_W0 | C_L0, .classes = INT))	/* vphsubbw */
VOP(X9, NP, E2, VEC(XR, C_W0 | C_L0, .classes = INT))	/* vphsubwd */
VOP(X9, NP, E3, VEC(XR, C_W0 | C_L0, .classes = INT))	/* vphsubdq */
VOP(XA, NP, 10, VEC(GR | A_REG_W | A_IMM(I_32), WIG | C_L0, .flags = F_ZF_UNDEF))	/* bextr */
VOP(XA, NP, 12, STEP(K_REG, 1))	/* lwpins lwpval */
VROW(VEC(GR | A_VV_W | A_IMM(I_32), WIG | C_L0 | C_VV, .flags = F_CF))
VROW(VEC(GR | A_VV_W | A_IMM(I_32), WIG | C_L0 | C_VV))
VROW(NONE)
VROW(NONE)
VROW(NONE)
VROW(NONE)
VROW(NONE)
VROW(NONE)

/* Newer than the Zydis of the tests, from the SDM and the Instruction Set Extensions
 * reference: AVX-IFMA, AVX-VNNI-INT8 and -INT16, AVX-NE-CONVERT, SHA512, SM3, SM4,
 * CMPccXADD, RAO-INT, AMX-FP16, AMX-COMPLEX. */
VOP(V0F38, 66, B4, VEC(XR, C_W1 | L01 | C_VV, .classes = INT))	/* vpmadd52luq */
VOP(V0F38, 66, B5, VEC(XR, C_W1 | L01 | C_VV, .classes = INT))	/* vpmadd52huq */
VOP(V0F38, NP, 50, VEC(XR, C_W0 | L01 | C_VV, .classes = INT))	/* vpdpbuud */
VOP(V0F38, NP, 51, VEC(XR, C_W0 | L01 | C_VV, .classes = INT))	/* vpdpbuuds */
VOP(V0F38, F3, 50, VEC(XR, C_W0 | L01 | C_VV, .classes = INT))	/* vpdpbsud */
VOP(V0F38, F3, 51, VEC(XR, C_W0 | L01 | C_VV, .classes = INT))	/* vpdpbsuds */
VOP(V0F38, F2, 50, VEC(XR, C_W0 | L01 | C_VV, .classes = INT))	/* vpdpbssd */
VOP(V0F38, F2, 51, VEC(XR, C_W0 | L01 | C_VV, .classes = INT))	/* vpdpbssds */
VOP(V0F38, NP, D2, VEC(XR, C_W0 | L01 | C_VV, .classes = INT))	/* vpdpwuud */
VOP(V0F38, NP, D3, VEC(XR, C_W0 | L01 | C_VV, .classes = INT))	/* vpdpwuuds */
VOP(V0F38, 66, D2, VEC(XR, C_W0 | L01 | C_VV, .classes = INT))	/* vpdpwusd */
VOP(V0F38, 66, D3, VEC(XR, C_W0 | L01 | C_VV, .classes = INT))	/* vpdpwusds */
VOP(V0F38, F3, D2, VEC(XR, C_W0 | L01 | C_VV, .classes = INT))	/* vpdpwsud */
VOP(V0F38, F3, D3, VEC(XR, C_W0 | L01 | C_VV, .classes = INT))	/* vpdpwsuds */
VOP(V0F38, NP, B0, VEC(GR | A_NOREG, C_W0 | L01, .classes = FP))	/* vcvtneoph2ps */
VOP(V0F38, 66, B0, VEC(GR | A_NOREG, C_W0 | L01, .classes = FP))	/* vcvtneeph2ps */
VOP(V0F38, F3, B0, VEC(GR | A_NOREG, C_W0 | L01, .classes = FP))	/* vcvtneebf162ps */
VOP(V0F38, F2, B0, VEC(GR | A_NOREG, C_W0 | L01, .classes = FP))	/* vcvtneobf162ps */
VOP(V0F38, 66, B1, VEC(GR | A_NOREG, C_W0 | L01))	/* vbcstnesh2ps */
VOP(V0F38, F3, B1, VEC(GR | A_NOREG, C_W0 | L01))	/* vbcstnebf162ps */
VOP(V0F38, F3, 72, VEC(XR, C_W0 | L01, .classes = FP))	/* vcvtneps2bf16 */
VOP(V0F38, F2, CB, VEC(XR | A_NOMEM, C_W0 | C_L1 | C_VV, .classes = INT))	/* vsha512rnds2 */
VOP(V0F38, F2, CC, VEC(XR | A_NOMEM, C_W0 | C_L1, .classes = INT))	/* vsha512msg1 */
VOP(V0F38, F2, CD, VEC(XR | A_NOMEM, C_W0 | C_L1, .classes = INT))	/* vsha512msg2 */
VOP(V0F38, NP, DA, VEC(XR, C_W0 | C_L0 | C_VV, .classes = INT))	/* vsm3msg1 */
VOP(V0F38, 66, DA, VEC(XR, C_W0 | C_L0 | C_VV, .classes = INT))	/* vsm3msg2 */
VOP(V0F38, F3, DA, VEC(XR, C_W0 | L01 | C_VV, .classes = INT))	/* vsm4key4 */
VOP(V0F38, F2, DA, VEC(XR, C_W0 | L01 | C_VV, .classes = INT))	/* vsm4rnds4 */
VOP(V0F3A, 66, DE, VEC(XR | IB, C_W0 | C_L0 | C_VV, .classes = INT))	/* vsm3rnds2 */
VOP(V0F38, 66, E0, VEC(GRW | A_REG_R | A_REG_W | A_VV_R | A_NOREG, WIG | C_L0 | C_VV, .flags = F_ALL))	/* cmpccxadd */
VOP(V0F38, 66, E1, VEC(GRW | A_REG_R | A_REG_W | A_VV_R | A_NOREG, WIG | C_L0 | C_VV, .flags = F_ALL))	/* cmpccxadd */
VOP(V0F38, 66, E2, VEC(GRW | A_REG_R | A_REG_W | A_VV_R | A_NOREG, WIG | C_L0 | C_VV, .flags = F_ALL))	/* cmpccxadd */
VOP(V0F38, 66, E3, VEC(GRW | A_REG_R | A_REG_W | A_VV_R | A_NOREG, WIG | C_L0 | C_VV, .flags = F_ALL))	/* cmpccxadd */
VOP(V0F38, 66, E4, VEC(GRW | A_REG_R | A_REG_W | A_VV_R | A_NOREG, WIG | C_L0 | C_VV, .flags = F_ALL))	/* cmpccxadd */
VOP(V0F38, 66, E5, VEC(GRW | A_REG_R | A_REG_W | A_VV_R | A_NOREG, WIG | C_L0 | C_VV, .flags = F_ALL))	/* cmpccxadd */
VOP(V0F38, 66, E6, VEC(GRW | A_REG_R | A_REG_W | A_VV_R | A_NOREG, WIG | C_L0 | C_VV, .flags = F_ALL))	/* cmpccxadd */
VOP(V0F38, 66, E7, VEC(GRW | A_REG_R | A_REG_W | A_VV_R | A_NOREG, WIG | C_L0 | C_VV, .flags = F_ALL))	/* cmpccxadd */
VOP(V0F38, 66, E8, VEC(GRW | A_REG_R | A_REG_W | A_VV_R | A_NOREG, WIG | C_L0 | C_VV, .flags = F_ALL))	/* cmpccxadd */
VOP(V0F38, 66, E9, VEC(GRW | A_REG_R | A_REG_W | A_VV_R | A_NOREG, WIG | C_L0 | C_VV, .flags = F_ALL))	/* cmpccxadd */
VOP(V0F38, 66, EA, VEC(GRW | A_REG_R | A_REG_W | A_VV_R | A_NOREG, WIG | C_L0 | C_VV, .flags = F_ALL))	/* cmpccxadd */
VOP(V0F38, 66, EB, VEC(GRW | A_REG_R | A_REG_W | A_VV_R | A_NOREG, WIG | C_L0 | C_VV, .flags = F_ALL))	/* cmpccxadd */
VOP(V0F38, 66, EC, VEC(GRW | A_REG_R | A_REG_W | A_VV_R | A_NOREG, WIG | C_L0 | C_VV, .flags = F_ALL))	/* cmpccxadd */
VOP(V0F38, 66, ED, VEC(GRW | A_REG_R | A_REG_W | A_VV_R | A_NOREG, WIG | C_L0 | C_VV, .flags = F_ALL))	/* cmpccxadd */
VOP(V0F38, 66, EE, VEC(GRW | A_REG_R | A_REG_W | A_VV_R | A_NOREG, WIG | C_L0 | C_VV, .flags = F_ALL))	/* cmpccxadd */
VOP(V0F38, 66, EF, VEC(GRW | A_REG_R | A_REG_W | A_VV_R | A_NOREG, WIG | C_L0 | C_VV, .flags = F_ALL))	/* cmpccxadd */
VOP(0F38, NP, FC, LEG(GRW | A_REG_R | A_NOREG))	/* aadd */
VOP(0F38, 66, FC, LEG(GRW | A_REG_R | A_NOREG))	/* aand */
VOP(0F38, F3, FC, LEG(GRW | A_REG_R | A_NOREG))	/* axor */
VOP(0F38, F2, FC, LEG(GRW | A_REG_R | A_NOREG))	/* aor */
VOP(V0F38, F2, 5C, VEC(XR | A_NOMEM, C_W0 | C_L0 | C_VV | C_VVK | C_REGK | C_DISTINCT))	/* tdpfp16ps */
VOP(V0F38, 66, 6C, VEC(XR | A_NOMEM, C_W0 | C_L0 | C_VV | C_VVK | C_REGK | C_DISTINCT))	/* tcmmimfp16ps */
VOP(V0F38, NP, 6C, VEC(XR | A_NOMEM, C_W0 | C_L0 | C_VV | C_VVK | C_REGK | C_DISTINCT))	/* tcmmrlfp16ps */
