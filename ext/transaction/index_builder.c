#include "transaction/index_builder.h"

#include "base/sqlite.h"

static int step_table(pt_scan *scan, pt_error *error)
{
    int rc = pt_view_step(scan->view, error);
    return rc == SQLITE_OK ? pt_scan_step(scan, error) : rc;
}

static int build_entries(pt_index_writer *writer, unsigned number, pt_error *error)
{
    pt_scan scan = {0};
    int rc = pt_scan_open_table(&scan, writer->view, writer->table_id, error);
    while (rc == SQLITE_OK && scan.valid) {
        rc = pt_index_writer_add(writer, number, &scan, error);
        rc = rc == SQLITE_OK ? step_table(&scan, error) : rc;
    }
    pt_scan_free(&scan);
    return rc;
}

static int check_unique(pt_index_writer *writer, unsigned number, pt_error *error)
{
    pt_scan scan = {0};
    pt_buffer before = {0};
    int rc = pt_scan_open_table(&scan, writer->view, writer->list.indexes[number].id, error);
    while (rc == SQLITE_OK && scan.valid) {
        rc = pt_index_writer_check(writer, number, &scan, &before, error);
        rc = rc == SQLITE_OK ? step_table(&scan, error) : rc;
    }
    pt_scan_free(&scan);
    pt_buffer_free(&before);
    return rc;
}

int pt_index_build(pt_index_writer *writer, const pt_index *index, uint32_t table_id,
                   pt_error *error)
{
    unsigned number = (unsigned)(index - writer->list.indexes);
    size_t row = pt_session_begin_row(writer->session);
    pt_index_writer_begin(writer, table_id);
    int rc = build_entries(writer, number, error);
    if (rc == SQLITE_OK && index->unique) {
        rc = check_unique(writer, number, error);
    }
    if (rc == SQLITE_OK) {
        pt_session_end_row(writer->session);
    } else {
        pt_session_discard_row(writer->session, row);
    }
    pt_index_writer_end(writer);
    return rc;
}
