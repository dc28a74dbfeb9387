/* Queries as objects: status, layout, buffers, estimates, configuration, fragments. */
#include "check.h"

static void show(const char *words, tiledb_query_t *query) {
  tiledb_query_type_t type;
  tiledb_layout_t layout;
  const char *names[2];
  int32_t has = 9;
  OK(tiledb_query_get_type(ctx, query, &type));
  OK(tiledb_query_get_layout(ctx, query, &layout));
  OK(tiledb_query_type_to_str(type, &names[0]));
  OK(tiledb_layout_to_str(layout, &names[1]));
  OK(tiledb_query_has_results(ctx, query, &has));
  printf("%s: %s, %s, %s, has results %d\n", words, names[0], names[1], status_of(query), has);
}

int main(void) {
  begin();
  create_sparse("array");
  int32_t coordinates[] = {1, 5, 20, 40, 60}, values[] = {1, 2, 3, 4, 5}, d1[16], a[16];
  write_sparse("array", 1, coordinates, values, 5);
  write_sparse("array", 2, coordinates, values, 2);

  tiledb_array_t *array = open_at("array", TILEDB_READ, 0), *other = NULL;
  tiledb_query_t *query = NULL;
  OK(tiledb_query_alloc(ctx, array, TILEDB_READ, &query));
  show("new", query);
  OK(tiledb_query_set_layout(ctx, query, TILEDB_ROW_MAJOR));
  uint64_t sizes[] = {sizeof d1, sizeof a}, *size = NULL;
  void *data = d1;
  OK(tiledb_query_get_data_buffer(ctx, query, "d1", &data, &size));
  printf("no buffer yet: %d, %d\n", data == NULL, size == NULL);
  OK(tiledb_query_set_data_buffer(ctx, query, "d1", d1, &sizes[0]));
  OK(tiledb_query_set_data_buffer(ctx, query, "a", a, &sizes[1]));
  OK(tiledb_query_get_data_buffer(ctx, query, "d1", &data, &size));
  printf("ours: %d, %d\n", data == d1, size == &sizes[0]);
  CODE("buffer of no field", tiledb_query_set_data_buffer(ctx, query, "no", a, &sizes[1]));
  CODE("no buffer", tiledb_query_set_data_buffer(ctx, query, "a", NULL, &sizes[1]));
  CODE("no size", tiledb_query_set_data_buffer(ctx, query, "a", a, NULL));
  CODE("offsets of numbers", tiledb_query_set_offsets_buffer(ctx, query, "a", &sizes[0], &sizes[1]));
  CODE("validity of what has none", tiledb_query_set_validity_buffer(ctx, query, "a", (uint8_t *)d1, &sizes[1]));
  CODE("get the buffer of no field", tiledb_query_get_data_buffer(ctx, query, "no", &data, &size));
  show("with buffers", query);

  uint64_t estimate = 0, second = 0;
  OK(tiledb_query_get_est_result_size(ctx, query, "a", &estimate));
  printf("estimate enough: %d\n", estimate >= 5 * sizeof(int32_t));
  CODE("estimate of no field", tiledb_query_get_est_result_size(ctx, query, "no", &estimate));
  CODE("estimate of texts", tiledb_query_get_est_result_size_var(ctx, query, "a", &estimate, &second));
  CODE("estimate of nulls", tiledb_query_get_est_result_size_nullable(ctx, query, "a", &estimate, &second));
  uint64_t relevant = 9;
  OK(tiledb_query_get_relevant_fragment_num(ctx, query, &relevant));
  printf("fragments to read: %" PRIu64 "\n", relevant);

  tiledb_string_t *plan = NULL;
  OK(tiledb_query_get_plan(ctx, query, &plan));
  const char *view = NULL;
  size_t length = 0;
  OK(tiledb_string_view(plan, &view, &length));
  char *text = strndup(view, length);
  printf("plan: %d, %d, %d\n", strstr(text, "\"TileDB Query Plan\"") != NULL,
         strstr(text, "\"Array.Type\"") != NULL, strstr(text, "\"row-major\"") != NULL);
  free(text);
  OK(tiledb_string_free(&plan));
  OK(tiledb_query_submit(ctx, query));
  show("submitted", query);
  print_i32("d1", d1, sizes[0] / 4);
  print_i32("a", a, sizes[1] / 4);
  OK(tiledb_query_finalize(ctx, query));
  show("finalized", query);

  OK(tiledb_query_get_array(ctx, query, &other));
  int32_t open = 9;
  OK(tiledb_array_is_open(ctx, other, &open));
  printf("its array is open: %d\n", open);
  tiledb_array_free(&other);
  tiledb_subarray_t *subarray = NULL;
  uint64_t ranges = 0;
  const void *low = NULL, *high = NULL, *stride = NULL;
  OK(tiledb_query_get_subarray_t(ctx, query, &subarray));
  OK(tiledb_subarray_get_range_num(ctx, subarray, 0, &ranges));
  OK(tiledb_subarray_get_range(ctx, subarray, 0, 0, &low, &high, &stride));
  printf("%" PRIu64 " range, %d to %d\n", ranges, *(const int32_t *)low, *(const int32_t *)high);
  tiledb_subarray_free(&subarray);
  tiledb_config_t *config = NULL;
  tiledb_error_t *error = NULL;
  const char *value = NULL;
  OK(tiledb_query_get_config(ctx, query, &config));
  OK(tiledb_config_get(config, "sm.var_offsets.mode", &value, &error));
  printf("mode of offsets: %s\n", value);
  tiledb_config_free(&config);
  char *stats = NULL;
  OK(tiledb_query_get_stats(ctx, query, &stats));
  printf("statistics: %d\n", stats != NULL);
  OK(tiledb_stats_free_str(&stats));
  uint32_t written = 9;
  CODE("fragments of a read", tiledb_query_get_fragment_num(ctx, query, &written));
  tiledb_query_free(&query);
  CODE("a write of an array that is read", tiledb_query_alloc(ctx, array, TILEDB_WRITE, &query));
  close_array(array);

  array = open_at("array", TILEDB_WRITE, 3);
  query = new_query(array, TILEDB_WRITE, TILEDB_UNORDERED);
  show("a new write", query);
  CODE("row-major write of a sparse array", tiledb_query_set_layout(ctx, query, TILEDB_ROW_MAJOR));
  CODE("submit without buffers", tiledb_query_submit(ctx, query));
  tiledb_query_free(&query);
  query = new_query(array, TILEDB_WRITE, TILEDB_UNORDERED);
  sizes[0] = sizes[1] = 8;
  OK(tiledb_query_set_data_buffer(ctx, query, "d1", coordinates, &sizes[0]));
  OK(tiledb_query_set_data_buffer(ctx, query, "a", values, &sizes[1]));
  OK(tiledb_query_submit(ctx, query));
  show("written", query);
  OK(tiledb_query_get_fragment_num(ctx, query, &written));
  uint64_t first = 0, last = 0;
  const char *uri = NULL;
  OK(tiledb_query_get_fragment_timestamp_range(ctx, query, 0, &first, &last));
  OK(tiledb_query_get_fragment_uri(ctx, query, 0, &uri));
  printf("%u fragment, times %" PRIu64 " and %" PRIu64 ", a URI %d\n", written, first, last,
         strstr(uri, "__fragments/__3_3_") != NULL);
  CODE("an index too many", tiledb_query_get_fragment_uri(ctx, query, 1, &uri));
  CODE("estimate of a write", tiledb_query_get_est_result_size(ctx, query, "a", &estimate));
  tiledb_query_free(&query);
  close_array(array);

  CODE("no array", tiledb_query_alloc(ctx, NULL, TILEDB_READ, &query));
  CODE("no query", tiledb_query_submit(ctx, NULL));
  OK(tiledb_array_alloc(ctx, "array", &array));
  CODE("a closed array", tiledb_query_alloc(ctx, array, TILEDB_READ, &query));
  tiledb_array_free(&array);
  return end();
}
