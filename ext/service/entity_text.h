/*
 * An entity as the service takes it: JSON in ASCII, with both keys, and with an annotation for
 * every type that the value alone does not tell.
 */
#ifndef PT_SERVICE_ENTITY_TEXT_H
#define PT_SERVICE_ENTITY_TEXT_H

#include "base/buffer.h"
#include "entity/bag.h"

/* Appends it. Sets json->failed when out of memory. */
void pt_entity_text_append(pt_buffer *json, pt_slice partition, pt_slice row, const pt_bag *bag);

#endif
