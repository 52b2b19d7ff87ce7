#include "service/service.h"

void pt_pending_clear(pt_remote_pending *pending)
{
    sqlite3_free(pending->account);
    sqlite3_free(pending->table);
    sqlite3_free(pending->sql_name);
    pending->account = NULL;
    pending->table = NULL;
    pending->sql_name = NULL;
    pending->mark_count = 0;
    pending->sent = false;
    pt_remote_operations_cut(&pending->operations, 0);
}

pt_service *pt_service_new(sqlite3 *db)
{
    pt_service *service = sqlite3_malloc64(sizeof *service);
    if (service == NULL) {
        return NULL;
    }
    *service = (pt_service){.references = 1, .db = db, .http = pt_http_new()};
    if (service->http == NULL) {
        pt_service_release(service);
        return NULL;
    }
    return service;
}

void pt_service_retain(pt_service *service)
{
    service->references++;
}

void pt_service_release(void *context)
{
    pt_service *service = context;
    if (--service->references != 0) {
        return;
    }
    for (size_t i = 0; i < service->account_count; i++) {
        sqlite3_free(service->accounts[i].name);
        pt_account_free(&service->accounts[i].account);
    }
    sqlite3_free(service->accounts);
    pt_pending_clear(&service->pending);
    pt_remote_operations_free(&service->pending.operations);
    sqlite3_free(service->pending.marks);
    pt_http_free(service->http);
    sqlite3_free(service);
}

/* The place of a name in the order. True if an account there has it. */
static bool locate_account(const pt_service *service, const char *name, size_t *place)
{
    size_t i = 0;
    while (i < service->account_count && sqlite3_stricmp(service->accounts[i].name, name) < 0) {
        i++;
    }
    *place = i;
    return i < service->account_count && sqlite3_stricmp(service->accounts[i].name, name) == 0;
}

int pt_service_name_account(pt_service *service, const char *name, pt_account *account,
                            pt_error *error)
{
    size_t place;
    if (locate_account(service, name, &place)) {
        pt_account_free(&service->accounts[place].account);
        service->accounts[place].account = *account;
        *account = (pt_account){0};
        return SQLITE_OK;
    }
    char *copy = sqlite3_mprintf("%s", name);
    if (copy == NULL || !pt_array_reserve(&service->accounts, &service->account_capacity,
                                          service->account_count + 1, sizeof *service->accounts)) {
        sqlite3_free(copy);
        return pt_error_nomem(error);
    }
    pt_named_account *at = &service->accounts[place];
    memmove(at + 1, at, (service->account_count - place) * sizeof *at);
    *at = (pt_named_account){.name = copy, .account = *account};
    service->account_count++;
    *account = (pt_account){0};
    return SQLITE_OK;
}

int pt_service_find_account(const pt_service *service, const char *name, const pt_account **account,
                            pt_error *error)
{
    size_t place;
    if (!locate_account(service, name, &place)) {
        return pt_error_set(error, SQLITE_ERROR,
                            "this connection has no account %Q; name it first: SELECT "
                            "pt_service_account(%Q, <connection string>)",
                            name, name);
    }
    *account = &service->accounts[place].account;
    return SQLITE_OK;
}
