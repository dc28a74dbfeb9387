/* Deletes by a condition, and of fragments by times. */
#include "check.h"

static int delete_at(const char *uri, uint64_t time, const char *field, int32_t value, tiledb_query_condition_op_t op) {
  tiledb_query_t *query = NULL;
  tiledb_query_condition_t *condition = NULL;
  tiledb_array_t *array = open_at(uri, TILEDB_DELETE, time);
  OK(tiledb_query_alloc(ctx, array, TILEDB_DELETE, &query));
  OK(tiledb_query_condition_alloc(ctx, &condition));
  OK(tiledb_query_condition_init(ctx, condition, field, &value, sizeof value, op));
  int code = tiledb_query_set_condition(ctx, query, condition);
  if (code == TILEDB_OK) code = tiledb_query_submit(ctx, query);
  tiledb_query_condition_free(&condition);
  tiledb_query_free(&query);
  close_array(array);
  return code;
}

static void consolidate(const char *purge) {
  tiledb_config_t *config = NULL;
  tiledb_error_t *error = NULL;
  OK(tiledb_config_alloc(&config, &error));
  OK(tiledb_config_set(config, "sm.consolidation.purge_deleted_cells", purge, &error));
  OK(tiledb_array_consolidate(ctx, "array", config));
  tiledb_config_free(&config);
}

static void fragments(const char *words) {
  tiledb_fragment_info_t *info = NULL;
  uint32_t count = 0;
  uint64_t cells = 0;
  OK(tiledb_fragment_info_alloc(ctx, "array", &info));
  OK(tiledb_fragment_info_load(ctx, info));
  OK(tiledb_fragment_info_get_fragment_num(ctx, info, &count));
  OK(tiledb_fragment_info_get_total_cell_num(ctx, info, &cells));
  printf("%s: %u fragments, %" PRIu64 " cells\n", words, count, cells);
  tiledb_fragment_info_free(&info);
}

int main(void) {
  begin();
  create_sparse("array");
  int32_t d1[] = {1, 2, 3, 4, 5, 6}, a[] = {10, 20, 30, 40, 50, 60}, more[] = {3, 7, 8}, values[] = {35, 70, 80};
  write_sparse("array", 1, d1, a, 6);
  CODE("a < 30", delete_at("array", 2, "a", 30, TILEDB_LT));
  print_sparse("after it", "array", 0);
  print_sparse("at 1", "array", 1);
  write_sparse("array", 3, more, values, 3);
  print_sparse("written again", "array", 0);
  CODE("d1 >= 6", delete_at("array", 4, "d1", 6, TILEDB_GE));
  print_sparse("after both", "array", 0);
  print_sparse("at 3", "array", 3);
  CODE("none of them", delete_at("array", 5, "a", 1000, TILEDB_GT));
  write_sparse("array", 6, more + 1, values + 1, 1);
  print_sparse("back again", "array", 0);
  fragments("before");
  consolidate("false");
  fragments("consolidated");
  print_sparse("consolidated", "array", 0);
  print_sparse("at 3", "array", 3);
  OK(tiledb_array_vacuum(ctx, "array", NULL));
  print_sparse("vacuumed", "array", 0);
  print_sparse("at 1", "array", 1);
  write_sparse("array", 7, more + 2, values + 2, 1);
  consolidate("true");
  OK(tiledb_array_vacuum(ctx, "array", NULL));
  fragments("purged");
  print_sparse("purged", "array", 0);

  CODE("an unknown field", delete_at("array", 9, "no", 3, TILEDB_EQ));
  tiledb_array_t *array = open_at("array", TILEDB_DELETE, 10);
  tiledb_query_t *query = NULL;
  OK(tiledb_query_alloc(ctx, array, TILEDB_DELETE, &query));
  CODE("without a condition", tiledb_query_submit(ctx, query));
  CODE("a layout", tiledb_query_set_layout(ctx, query, TILEDB_GLOBAL_ORDER));
  tiledb_query_free(&query);
  CODE("a read of what is open for deletes", tiledb_query_alloc(ctx, array, TILEDB_READ, &query));
  close_array(array);
  create_dense("dense");
  OK(tiledb_array_alloc(ctx, "dense", &array));
  int code = tiledb_array_open(ctx, array, TILEDB_DELETE);
  CODE("open of a dense array", code);
  if (code == TILEDB_OK) {
    CODE("delete in a dense array", tiledb_query_alloc(ctx, array, TILEDB_DELETE, &query));
    tiledb_query_free(&query);
  }
  tiledb_array_free(&array);

  /* Whole fragments. */
  create_sparse("other");
  for (int i = 0; i < 4; i++) write_sparse("other", 10 + i, &d1[i], &a[i], 1);
  print_sparse("four", "other", 0);
  OK(tiledb_array_delete_fragments_v2(ctx, "other", 11, 12));
  print_sparse("two", "other", 0);
  OK(tiledb_array_delete_fragments_v2(ctx, "other", 20, 30));
  print_sparse("still two", "other", 0);
  CODE("from late to early", tiledb_array_delete_fragments_v2(ctx, "other", 12, 11));
  CODE("no array", tiledb_array_delete_fragments_v2(ctx, "missing", 1, 2));
  tiledb_fragment_info_t *info = NULL;
  const char *uri = NULL;
  OK(tiledb_fragment_info_alloc(ctx, "other", &info));
  OK(tiledb_fragment_info_load(ctx, info));
  OK(tiledb_fragment_info_get_fragment_uri(ctx, info, 0, &uri));
  const char *list[] = {uri};
  OK(tiledb_array_delete_fragments_list(ctx, "other", list, 1));
  print_sparse("one", "other", 0);
  CODE("the same again", tiledb_array_delete_fragments_list(ctx, "other", list, 1));
  /* No list is left out: libtiledb 2.30 crashes. */
  tiledb_fragment_info_free(&info);
  return end();
}
