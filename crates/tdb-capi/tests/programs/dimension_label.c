/* Dimension labels: in a schema, written with the array, ranges of labels. */
#include "check.h"

static void show(tiledb_dimension_label_t *label) {
  const char *name = NULL, *attribute = NULL, *words[2];
  uint32_t index = 9, values = 9;
  tiledb_data_order_t order;
  tiledb_datatype_t type;
  OK(tiledb_dimension_label_get_name(ctx, label, &name));
  OK(tiledb_dimension_label_get_label_attr_name(ctx, label, &attribute));
  OK(tiledb_dimension_label_get_dimension_index(ctx, label, &index));
  OK(tiledb_dimension_label_get_label_cell_val_num(ctx, label, &values));
  OK(tiledb_dimension_label_get_label_order(ctx, label, &order));
  OK(tiledb_dimension_label_get_label_type(ctx, label, &type));
  OK(tiledb_data_order_to_str(order, &words[0]));
  OK(tiledb_datatype_to_str(type, &words[1]));
  printf("%s of dimension %u: %s, %s, %u values, attribute %s\n", name, index, words[0], words[1], values, attribute);
}

static void read_range(const char *words, double low, double high) {
  double x[16];
  int32_t a[16];
  uint64_t sizes[] = {sizeof x, sizeof a}, count = 9;
  int32_t has = 9;
  const void *from = NULL, *to = NULL, *stride = NULL;
  const char *name = NULL;
  tiledb_array_t *array = open_at("array", TILEDB_READ, 0);
  tiledb_subarray_t *subarray = NULL;
  tiledb_query_t *query = new_query(array, TILEDB_READ, TILEDB_ROW_MAJOR);
  OK(tiledb_subarray_alloc(ctx, array, &subarray));
  OK(tiledb_subarray_has_label_ranges(ctx, subarray, 0, &has));
  printf("%s: has ranges %d", words, has);
  OK(tiledb_subarray_add_label_range(ctx, subarray, "x", &low, &high, NULL));
  OK(tiledb_subarray_has_label_ranges(ctx, subarray, 0, &has));
  OK(tiledb_subarray_get_label_range_num(ctx, subarray, "x", &count));
  OK(tiledb_subarray_get_label_range(ctx, subarray, "x", 0, &from, &to, &stride));
  OK(tiledb_subarray_get_label_name(ctx, subarray, 0, &name));
  printf(", %d, %" PRIu64 " of %s: %g to %g\n", has, count, name, *(const double *)from, *(const double *)to);
  OK(tiledb_query_set_subarray_t(ctx, query, subarray));
  OK(tiledb_query_set_data_buffer(ctx, query, "x", x, &sizes[0]));
  OK(tiledb_query_set_data_buffer(ctx, query, "a", a, &sizes[1]));
  OK(tiledb_query_submit(ctx, query));
  printf("  %s\n", status_of(query));
  print_f64("  x", x, sizes[0] / 8);
  print_i32("  a", a, sizes[1] / 4);
  tiledb_subarray_free(&subarray);
  tiledb_query_free(&query);
  close_array(array);
}

static void read_text(const char *low, const char *high) {
  int32_t a[16];
  uint64_t size = sizeof a, low_size = 0, high_size = 0;
  char from[8] = {0}, to[8] = {0};
  tiledb_array_t *array = open_at("array", TILEDB_READ, 0);
  tiledb_subarray_t *subarray = NULL;
  tiledb_query_t *query = new_query(array, TILEDB_READ, TILEDB_ROW_MAJOR);
  OK(tiledb_subarray_alloc(ctx, array, &subarray));
  OK(tiledb_subarray_add_label_range_var(ctx, subarray, "t", low, strlen(low), high, strlen(high)));
  OK(tiledb_subarray_get_label_range_var_size(ctx, subarray, "t", 0, &low_size, &high_size));
  OK(tiledb_subarray_get_label_range_var(ctx, subarray, "t", 0, from, to));
  print_text("texts from", from, low_size);
  print_text("  to", to, high_size);
  OK(tiledb_query_set_subarray_t(ctx, query, subarray));
  OK(tiledb_query_set_data_buffer(ctx, query, "a", a, &size));
  OK(tiledb_query_submit(ctx, query));
  print_i32("  a", a, size / 4);
  tiledb_subarray_free(&subarray);
  tiledb_query_free(&query);
  close_array(array);
}

int main(void) {
  begin();
  tiledb_array_schema_t *schema = new_schema(TILEDB_DENSE);
  tiledb_dimension_label_t *label = NULL;
  uint64_t count = 9;
  int32_t has = 9;
  CODE("a label without a domain", tiledb_array_schema_add_dimension_label(ctx, schema, 0, "x", TILEDB_INCREASING_DATA, TILEDB_FLOAT64));
  set_i32_domain(schema, 1, 1, 6, 3);
  add_attribute(schema, "a", TILEDB_INT32, 1, 0);
  OK(tiledb_array_schema_add_dimension_label(ctx, schema, 0, "x", TILEDB_INCREASING_DATA, TILEDB_FLOAT64));
  OK(tiledb_array_schema_add_dimension_label(ctx, schema, 0, "t", TILEDB_DECREASING_DATA, TILEDB_STRING_ASCII));
  CODE("a name twice", tiledb_array_schema_add_dimension_label(ctx, schema, 0, "x", TILEDB_INCREASING_DATA, TILEDB_INT32));
  CODE("a dimension too many", tiledb_array_schema_add_dimension_label(ctx, schema, 1, "y", TILEDB_INCREASING_DATA, TILEDB_INT32));
  double extent = 4;
  int32_t whole = 3;
  CODE("extent of labels", tiledb_array_schema_set_dimension_label_tile_extent(ctx, schema, "x", TILEDB_INT32, &whole));
  CODE("extent of another type", tiledb_array_schema_set_dimension_label_tile_extent(ctx, schema, "x", TILEDB_FLOAT64, &extent));
  CODE("extent of an unknown label", tiledb_array_schema_set_dimension_label_tile_extent(ctx, schema, "y", TILEDB_INT32, &whole));
  tiledb_filter_list_t *filters = NULL;
  OK(tiledb_filter_list_alloc(ctx, &filters));
  CODE("filters of labels", tiledb_array_schema_set_dimension_label_filter_list(ctx, schema, "x", filters));
  CODE("filters of an unknown label", tiledb_array_schema_set_dimension_label_filter_list(ctx, schema, "y", filters));
  tiledb_filter_list_free(&filters);
  OK(tiledb_array_schema_get_dimension_label_num(ctx, schema, &count));
  OK(tiledb_array_schema_has_dimension_label(ctx, schema, "x", &has));
  printf("%" PRIu64 " labels, x %d", count, has);
  OK(tiledb_array_schema_has_dimension_label(ctx, schema, "y", &has));
  printf(", y %d\n", has);
  create("array", schema);

  OK(tiledb_array_schema_load(ctx, "array", &schema));
  OK(tiledb_array_schema_get_dimension_label_from_name(ctx, schema, "x", &label));
  show(label);
  const char *uri = NULL;
  OK(tiledb_dimension_label_get_uri(ctx, label, &uri));
  printf("in the folder of labels: %d\n", strstr(uri, "__labels/") != NULL);
  tiledb_dimension_label_free(&label);
  OK(tiledb_array_schema_get_dimension_label_from_index(ctx, schema, 1, &label));
  show(label);
  tiledb_dimension_label_free(&label);
  /* An index too many is left out: libtiledb 2.30 crashes. */
  CODE("an unknown name", tiledb_array_schema_get_dimension_label_from_name(ctx, schema, "y", &label));
  tiledb_array_schema_free(&schema);

  double x[] = {0.5, 1, 2, 4, 8, 16};
  char t[] = "fedcba";
  int32_t a[] = {10, 20, 30, 40, 50, 60};
  uint64_t places[] = {0, 1, 2, 3, 4, 5}, sizes[] = {sizeof x, 6, sizeof places, sizeof a};
  tiledb_array_t *array = open_at("array", TILEDB_WRITE, 1);
  tiledb_query_t *query = new_query(array, TILEDB_WRITE, TILEDB_ROW_MAJOR);
  set_box(query, array, (int32_t[]){1, 6}, 1);
  OK(tiledb_query_set_data_buffer(ctx, query, "x", x, &sizes[0]));
  OK(tiledb_query_set_data_buffer(ctx, query, "t", t, &sizes[1]));
  OK(tiledb_query_set_offsets_buffer(ctx, query, "t", places, &sizes[2]));
  OK(tiledb_query_set_data_buffer(ctx, query, "a", a, &sizes[3]));
  finish_write(query, array);

  read_range("in the middle", 1, 5);
  read_range("all", 0, 100);
  read_range("one", 8, 8);
  read_text("b", "d");

  /* Labels alone. */
  double found[6];
  sizes[0] = sizeof found;
  array = open_at("array", TILEDB_READ, 0);
  query = new_query(array, TILEDB_READ, TILEDB_ROW_MAJOR);
  set_box(query, array, (int32_t[]){2, 4}, 1);
  OK(tiledb_query_set_data_buffer(ctx, query, "x", found, &sizes[0]));
  OK(tiledb_query_submit(ctx, query));
  print_f64("labels alone", found, sizes[0] / 8);
  tiledb_query_free(&query);
  tiledb_subarray_t *subarray = NULL;
  OK(tiledb_subarray_alloc(ctx, array, &subarray));
  CODE("an unknown label", tiledb_subarray_add_label_range(ctx, subarray, "y", &x[0], &x[1], NULL));
  CODE("ranges of no label", tiledb_subarray_get_label_range_num(ctx, subarray, "y", &count));
  CODE("no name", tiledb_subarray_get_label_name(ctx, subarray, 0, &uri));
  tiledb_subarray_free(&subarray);
  close_array(array);

  /* Labels out of order are refused. */
  double back[] = {6, 5, 4, 3, 2, 1};
  sizes[0] = sizeof back;
  array = open_at("array", TILEDB_WRITE, 2);
  query = new_query(array, TILEDB_WRITE, TILEDB_ROW_MAJOR);
  set_box(query, array, (int32_t[]){1, 6}, 1);
  OK(tiledb_query_set_data_buffer(ctx, query, "x", back, &sizes[0]));
  CODE("descending labels", tiledb_query_submit(ctx, query));
  tiledb_query_free(&query);
  close_array(array);
  return end();
}
