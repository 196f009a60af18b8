/* Between a full page and the recorder: see tare_record_slot() in tare/record.h. */
#ifndef RECORD_ROOM_H
#define RECORD_ROOM_H

#include <tare/record.h>

/* The value of `room` in every handle. x86-64: asm that keeps all registers, not to be
 * called from C. */
uint8_t *record_room_entry(struct tare_record_thread *t);
/* A place for one record of the calling thread. */
uint8_t *record_room(struct tare_record_thread *t);

#endif
