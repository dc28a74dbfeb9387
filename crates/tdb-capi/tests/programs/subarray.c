/* Subarrays: ranges by index and name, of numbers and of texts, limits, copies. */
#include "check.h"

static void show(const char *words, tiledb_subarray_t *subarray, uint32_t dimension) {
  uint64_t count = 9;
  OK(tiledb_subarray_get_range_num(ctx, subarray, dimension, &count));
  printf("%s: %" PRIu64 " ranges:", words, count);
  for (uint64_t i = 0; i < count; i++) {
    const void *low = NULL, *high = NULL, *stride = &count;
    OK(tiledb_subarray_get_range(ctx, subarray, dimension, i, &low, &high, &stride));
    printf(" %d to %d", *(const int32_t *)low, *(const int32_t *)high);
    if (stride != NULL) printf(" with a stride");
  }
  printf("\n");
}

static int add(tiledb_subarray_t *subarray, uint32_t dimension, int32_t low, int32_t high) {
  return tiledb_subarray_add_range(ctx, subarray, dimension, &low, &high, NULL);
}

static void of_texts(void) {
  tiledb_array_schema_t *schema = new_schema(TILEDB_SPARSE);
  set_text_domain(schema, "key");
  create("keys", schema);
  tiledb_array_t *array = open_at("keys", TILEDB_READ, 0);
  tiledb_subarray_t *subarray = NULL;
  uint64_t count = 9, low_size = 9, high_size = 9;
  char low[16] = {0}, high[16] = {0};
  OK(tiledb_subarray_alloc(ctx, array, &subarray));
  OK(tiledb_subarray_get_range_num(ctx, subarray, 0, &count));
  OK(tiledb_subarray_get_range_var_size(ctx, subarray, 0, 0, &low_size, &high_size));
  printf("texts: %" PRIu64 " range, sizes %" PRIu64 " and %" PRIu64 "\n", count, low_size, high_size);
  OK(tiledb_subarray_add_range_var(ctx, subarray, 0, "ab", 2, "xyz", 3));
  OK(tiledb_subarray_add_range_var_by_name(ctx, subarray, "key", "zz", 2, "zzzz", 4));
  OK(tiledb_subarray_get_range_num_from_name(ctx, subarray, "key", &count));
  printf("%" PRIu64 " ranges\n", count);
  for (uint64_t i = 0; i < count; i++) {
    OK(tiledb_subarray_get_range_var_size_from_name(ctx, subarray, "key", i, &low_size, &high_size));
    OK(tiledb_subarray_get_range_var(ctx, subarray, 0, i, low, high));
    print_text("  from", low, low_size);
    print_text("  to", high, high_size);
  }
  OK(tiledb_subarray_get_range_var_from_name(ctx, subarray, "key", 0, low, high));
  CODE("from high to low", tiledb_subarray_add_range_var(ctx, subarray, 0, "b", 1, "a", 1));
  CODE("numbers", add(subarray, 0, 1, 2));
  OK(tiledb_subarray_get_range_num(ctx, subarray, 0, &count));
  printf("%" PRIu64 " ranges\n", count);
  CODE("an index too many", tiledb_subarray_get_range_var_size(ctx, subarray, 0, 9, &low_size, &high_size));
  tiledb_subarray_free(&subarray);
  close_array(array);
}

int main(void) {
  begin();
  create_dense("array");
  create_sparse("sparse");
  tiledb_array_t *array = open_at("array", TILEDB_READ, 0);
  tiledb_subarray_t *subarray = NULL;
  OK(tiledb_subarray_alloc(ctx, array, &subarray));
  show("new", subarray, 0);
  OK(add(subarray, 0, 2, 3));
  show("one", subarray, 0);
  OK(add(subarray, 0, 1, 1));
  OK(add(subarray, 0, 3, 4));
  show("three", subarray, 0);
  show("the other", subarray, 1);
  int32_t ends[] = {1, 2};
  OK(tiledb_subarray_add_range_by_name(ctx, subarray, "d2", &ends[0], &ends[1], NULL));
  uint64_t count = 9;
  const void *low = NULL, *high = NULL, *stride = NULL;
  OK(tiledb_subarray_get_range_num_from_name(ctx, subarray, "d2", &count));
  OK(tiledb_subarray_get_range_from_name(ctx, subarray, "d2", 0, &low, &high, &stride));
  printf("d2: %" PRIu64 " range, %d to %d\n", count, *(const int32_t *)low, *(const int32_t *)high);

  CODE("from high to low", add(subarray, 0, 3, 2));
  CODE("below the domain", add(subarray, 0, 0, 2));
  CODE("above the domain", add(subarray, 0, 4, 5));
  CODE("no such dimension", add(subarray, 2, 1, 2));
  CODE("no such name", tiledb_subarray_add_range_by_name(ctx, subarray, "d3", &ends[0], &ends[1], NULL));
  CODE("no low end", tiledb_subarray_add_range(ctx, subarray, 0, NULL, &ends[1], NULL));
  CODE("a stride", tiledb_subarray_add_range(ctx, subarray, 0, &ends[0], &ends[1], &ends[0]));
  CODE("an index too many", tiledb_subarray_get_range(ctx, subarray, 0, 3, &low, &high, &stride));
  CODE("texts", tiledb_subarray_add_range_var(ctx, subarray, 0, "a", 1, "b", 1));
  show("as before", subarray, 0);
  tiledb_subarray_free(&subarray);

  /* Ranges that touch become one, unless that is switched off. */
  OK(tiledb_subarray_alloc(ctx, array, &subarray));
  OK(add(subarray, 0, 1, 2));
  OK(add(subarray, 0, 3, 3));
  show("coalesced", subarray, 0);
  tiledb_subarray_free(&subarray);
  OK(tiledb_subarray_alloc(ctx, array, &subarray));
  OK(tiledb_subarray_set_coalesce_ranges(ctx, subarray, 0));
  OK(add(subarray, 0, 1, 2));
  OK(add(subarray, 0, 3, 3));
  show("apart", subarray, 0);
  tiledb_subarray_free(&subarray);

  /* A box at once. */
  OK(tiledb_subarray_alloc(ctx, array, &subarray));
  const int32_t box[] = {2, 3, 1, 4}, outside[] = {2, 3, 1, 5};
  OK(tiledb_subarray_set_subarray(ctx, subarray, box));
  show("box, rows", subarray, 0);
  show("box, columns", subarray, 1);
  CODE("a box outside", tiledb_subarray_set_subarray(ctx, subarray, outside));

  /* A query has a copy. */
  tiledb_query_t *query = new_query(array, TILEDB_READ, TILEDB_ROW_MAJOR);
  tiledb_subarray_t *copy = NULL;
  OK(tiledb_query_set_subarray_t(ctx, query, subarray));
  OK(tiledb_subarray_set_subarray(ctx, subarray, (int32_t[]){1, 1, 1, 1}));
  show("changed", subarray, 0);
  OK(tiledb_query_get_subarray_t(ctx, query, &copy));
  show("of the query", copy, 0);
  tiledb_subarray_free(&copy);
  tiledb_query_free(&query);

  tiledb_config_t *config = NULL;
  tiledb_error_t *error = NULL;
  OK(tiledb_config_alloc(&config, &error));
  OK(tiledb_config_set(config, "sm.read_range_oob", "warn", &error));
  OK(tiledb_subarray_set_config(ctx, subarray, config));
  CODE("beyond the domain, with a warning", add(subarray, 1, 0, 9));
  OK(tiledb_config_set(config, "sm.read_range_oob", "error", &error));
  OK(tiledb_subarray_set_config(ctx, subarray, config));
  CODE("beyond the domain, as an error", add(subarray, 1, 0, 9));
  tiledb_config_free(&config);
  tiledb_subarray_free(&subarray);
  close_array(array);

  of_texts();
  CODE("no array", tiledb_subarray_alloc(ctx, NULL, &subarray));
  OK(tiledb_array_alloc(ctx, "array", &array));
  CODE("a closed array", tiledb_subarray_alloc(ctx, array, &subarray));
  tiledb_array_free(&array);
  return end();
}
