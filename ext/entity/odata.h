/*
 * The names of OData's annotations in JSON, such as "Age@odata.type":"Edm.Int32".
 */
#ifndef PT_ENTITY_ODATA_H
#define PT_ENTITY_ODATA_H

#define PT_ODATA_TYPE_SUFFIX "@odata.type" /* after the name of the annotated property */
#define PT_ODATA_TYPE_PREFIX "Edm."        /* before the name of a type */
#define PT_ODATA_CONTROL_PREFIX                                                                    \
    "odata." /* before names that describe the entity and are not properties of it */

#endif
