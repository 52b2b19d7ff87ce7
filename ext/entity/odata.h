/*
 * What OData's JSON says beside a property: "Age@odata.type":"Edm.Int32".
 */
#ifndef PT_ENTITY_ODATA_H
#define PT_ENTITY_ODATA_H

#define PT_ODATA_TYPE_SUFFIX "@odata.type" /* of the annotated property's name */
#define PT_ODATA_TYPE_PREFIX "Edm."        /* of the type's name */
#define PT_ODATA_CONTROL_PREFIX "odata."   /* of names that are about the entity, not in it */

#endif
