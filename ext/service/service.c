#include "service/service.h"

static void forget_target(pt_remote_pending *pending)
{
    sqlite3_free(pending->account);
    sqlite3_free(pending->table);
    sqlite3_free(pending->sql_name);
    pending->account = NULL;
    pending->table = NULL;
    pending->sql_name = NULL;
}

int pt_pending_name_table(pt_remote_pending *pending, const char *account, const char *table,
                          const char *sql_name, pt_error *error)
{
    forget_target(pending);
    pending->account = sqlite3_mprintf("%s", account);
    pending->table = sqlite3_mprintf("%s", table);
    pending->sql_name = sqlite3_mprintf("%s", sql_name);
    bool named = pending->account != NULL && pending->table != NULL && pending->sql_name != NULL;
    return named ? SQLITE_OK : pt_error_nomem(error);
}

bool pt_pending_is_for(const pt_remote_pending *pending, const char *account, const char *table)
{
    return pending->operations.count != 0 && sqlite3_stricmp(pending->account, account) == 0 &&
           strcmp(pending->table, table) == 0;
}

void pt_pending_clear(pt_remote_pending *pending)
{
    forget_target(pending);
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
        service->accounts[place].last_date = 0;
        service->accounts[place].last_date_text[0] = 0;
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

bool pt_service_is_new_date(pt_service *service, const char *name, pt_slice date)
{
    size_t place;
    if (date.size >= PT_DATE_TEXT_SIZE || !locate_account(service, name, &place)) {
        return true;
    }
    char *last = service->accounts[place].last_date_text;
    if (pt_slice_equal(date, pt_slice_text(last))) {
        return false;
    }
    memcpy(last, date.data, date.size);
    last[date.size] = 0;
    return true;
}

void pt_service_note_date(pt_service *service, const char *name, int64_t seconds)
{
    size_t place;
    if (locate_account(service, name, &place)) {
        service->accounts[place].last_date = seconds;
    }
}

int64_t pt_service_last_date(const pt_service *service, const char *name)
{
    size_t place;
    return locate_account(service, name, &place) ? service->accounts[place].last_date : 0;
}

void pt_service_note_server(pt_service *service, const char *name, pt_slice header)
{
    size_t place;
    if (!locate_account(service, name, &place) || service->accounts[place].account.has_replied) {
        return;
    }
    pt_account *account = &service->accounts[place].account;
    pt_dialect told = pt_dialect_of_server(header);
    account->has_replied = true;
    if (told == PT_DIALECT_AZURE || told == PT_DIALECT_AZURITE ||
        account->dialect == PT_DIALECT_UNKNOWN) {
        account->dialect = told;
    }
}

pt_dialect pt_service_dialect(const pt_service *service, const char *name)
{
    size_t place;
    return locate_account(service, name, &place) ? service->accounts[place].account.dialect
                                                 : PT_DIALECT_UNKNOWN;
}
