/* Aggregates by channels: each operation, sparse and dense, with conditions, nulls and texts. */
#include "check.h"

static void make(const char *uri, tiledb_array_type_t type) {
  tiledb_array_schema_t *schema = new_schema(type);
  set_i32_domain(schema, 1, 1, 8, 4);
  add_attribute(schema, "a", TILEDB_INT32, 1, 0);
  add_attribute(schema, "f", TILEDB_FLOAT64, 1, 0);
  add_attribute(schema, "n", TILEDB_UINT8, 1, 1);
  add_attribute(schema, "s", TILEDB_STRING_ASCII, TILEDB_VAR_NUM, 0);
  create(uri, schema);
  int32_t d1[] = {1, 2, 3, 4, 5, 6, 7, 8}, a[] = {5, -3, 8, 3, -1, 0, 9, 2};
  double f[] = {0.5, 1, 1.5, 2, 2.5, 3, 3.5, -4};
  uint8_t n[] = {10, 20, 30, 40, 50, 60, 70, 80}, valid[] = {1, 0, 1, 0, 1, 1, 0, 1};
  char s[] = "bcabdddaae";
  uint64_t starts[] = {0, 1, 2, 3, 4, 7, 8, 9}, sizes[] = {32, 32, 64, 8, 8, 10, 64};
  tiledb_array_t *array = open_at(uri, TILEDB_WRITE, 1);
  tiledb_query_t *query = new_query(array, TILEDB_WRITE, type == TILEDB_DENSE ? TILEDB_ROW_MAJOR : TILEDB_UNORDERED);
  if (type == TILEDB_DENSE) set_box(query, array, (int32_t[]){1, 8}, 1);
  else OK(tiledb_query_set_data_buffer(ctx, query, "d1", d1, &sizes[0]));
  OK(tiledb_query_set_data_buffer(ctx, query, "a", a, &sizes[1]));
  OK(tiledb_query_set_data_buffer(ctx, query, "f", f, &sizes[2]));
  OK(tiledb_query_set_data_buffer(ctx, query, "n", n, &sizes[3]));
  OK(tiledb_query_set_validity_buffer(ctx, query, "n", valid, &sizes[4]));
  OK(tiledb_query_set_data_buffer(ctx, query, "s", s, &sizes[5]));
  OK(tiledb_query_set_offsets_buffer(ctx, query, "s", starts, &sizes[6]));
  finish_write(query, array);
}

static void apply(tiledb_query_t *query, const tiledb_channel_operator_t *operator, const char *field, const char *name) {
  tiledb_query_channel_t *channel = NULL;
  tiledb_channel_operation_t *operation = NULL;
  OK(tiledb_query_get_default_channel(ctx, query, &channel));
  OK(tiledb_create_unary_aggregate(ctx, query, operator, field, &operation));
  OK(tiledb_channel_apply_aggregate(ctx, channel, name, operation));
  OK(tiledb_aggregate_free(ctx, &operation));
  OK(tiledb_query_channel_free(ctx, &channel));
}

static void all(const char *uri, int dense, const int32_t *box, int with_condition) {
  const tiledb_channel_operator_t *sum, *least, *most, *mean, *nulls;
  const tiledb_channel_operation_t *count = NULL;
  tiledb_query_channel_t *channel = NULL;
  OK(tiledb_channel_operator_sum_get(ctx, &sum));
  OK(tiledb_channel_operator_min_get(ctx, &least));
  OK(tiledb_channel_operator_max_get(ctx, &most));
  OK(tiledb_channel_operator_mean_get(ctx, &mean));
  OK(tiledb_channel_operator_null_count_get(ctx, &nulls));
  OK(tiledb_aggregate_count_get(ctx, &count));
  tiledb_array_t *array = open_at(uri, TILEDB_READ, 0);
  tiledb_query_t *query = new_query(array, TILEDB_READ, dense ? TILEDB_ROW_MAJOR : TILEDB_UNORDERED);
  if (box != NULL) set_box(query, array, box, 1);
  tiledb_query_condition_t *condition = NULL;
  if (with_condition) {
    int32_t zero = 0;
    OK(tiledb_query_condition_alloc(ctx, &condition));
    OK(tiledb_query_condition_init(ctx, condition, "a", &zero, 4, TILEDB_GT));
    OK(tiledb_query_set_condition(ctx, query, condition));
    tiledb_query_condition_free(&condition);
  }
  OK(tiledb_query_get_default_channel(ctx, query, &channel));
  OK(tiledb_channel_apply_aggregate(ctx, channel, "Count", count));
  OK(tiledb_query_channel_free(ctx, &channel));
  apply(query, sum, "a", "Sum");
  apply(query, least, "a", "Least");
  apply(query, most, "f", "Most");
  apply(query, mean, "f", "Mean");
  apply(query, nulls, "n", "Nulls");
  apply(query, sum, "n", "Sum of what is not null");
  apply(query, least, "s", "First text");

  uint64_t cells = 0, null_count = 0, of_bytes = 0, sizes[] = {8, 8, 4, 8, 8, 8, 8, 1, 16, 8};
  int64_t total = 0;
  int32_t low = 0;
  double high = 0, average = 0;
  uint8_t known = 9;
  char text[16];
  uint64_t start[1] = {9};
  OK(tiledb_query_set_data_buffer(ctx, query, "Count", &cells, &sizes[0]));
  OK(tiledb_query_set_data_buffer(ctx, query, "Sum", &total, &sizes[1]));
  OK(tiledb_query_set_data_buffer(ctx, query, "Least", &low, &sizes[2]));
  OK(tiledb_query_set_data_buffer(ctx, query, "Most", &high, &sizes[3]));
  OK(tiledb_query_set_data_buffer(ctx, query, "Mean", &average, &sizes[4]));
  OK(tiledb_query_set_data_buffer(ctx, query, "Nulls", &null_count, &sizes[5]));
  OK(tiledb_query_set_data_buffer(ctx, query, "Sum of what is not null", &of_bytes, &sizes[6]));
  OK(tiledb_query_set_validity_buffer(ctx, query, "Sum of what is not null", &known, &sizes[7]));
  OK(tiledb_query_set_data_buffer(ctx, query, "First text", text, &sizes[8]));
  OK(tiledb_query_set_offsets_buffer(ctx, query, "First text", start, &sizes[9]));
  OK(tiledb_query_submit(ctx, query));
  printf("%s, %s, condition %d: %s\n", uri, box == NULL ? "all" : "a box", with_condition, status_of(query));
  /* Counts of dense arrays under a condition are left out: docs/correctness_issues.md. */
  if (!(dense && with_condition)) printf("  count %" PRIu64 "\n", cells);
  printf("  sum %" PRId64 ", least %d, most %g, mean %g\n", total, low, high, average);
  printf("  nulls %" PRIu64 ", sum %" PRIu64 ", known %u\n", null_count, of_bytes, known);
  /* So is the least text of dense arrays: libtiledb takes it from statistics that can be wrong. */
  if (!dense) print_text("  text", text, sizes[8]);
  print_u64("  sizes", sizes, 10);
  tiledb_query_free(&query);
  close_array(array);
}

static void fields(void) {
  const tiledb_channel_operator_t *sum = NULL, *mean = NULL;
  tiledb_channel_operation_t *operation = NULL;
  tiledb_query_field_t *field = NULL;
  tiledb_query_channel_t *channel = NULL;
  OK(tiledb_channel_operator_sum_get(ctx, &sum));
  OK(tiledb_channel_operator_mean_get(ctx, &mean));
  tiledb_array_t *array = open_at("sparse", TILEDB_READ, 0);
  tiledb_query_t *query = new_query(array, TILEDB_READ, TILEDB_UNORDERED);
  apply(query, sum, "n", "Sum");
  apply(query, mean, "a", "Mean");
  const char *names[] = {"a", "n", "s", "d1", "Sum", "Mean"};
  for (size_t i = 0; i < COUNT(names); i++) {
    tiledb_datatype_t type;
    tiledb_field_origin_t origin;
    uint32_t values = 0;
    uint8_t nullable = 9;
    const char *word = NULL;
    OK(tiledb_query_get_field(ctx, query, names[i], &field));
    OK(tiledb_field_datatype(ctx, field, &type));
    OK(tiledb_field_origin(ctx, field, &origin));
    OK(tiledb_field_cell_val_num(ctx, field, &values));
    OK(tiledb_field_get_nullable(ctx, field, &nullable));
    OK(tiledb_field_channel(ctx, field, &channel));
    OK(tiledb_datatype_to_str(type, &word));
    printf("%s: %s, origin %d, %u values, nullable %u\n", names[i], word, (int)origin, values, nullable);
    OK(tiledb_query_channel_free(ctx, &channel));
    OK(tiledb_query_field_free(ctx, &field));
  }
  CODE("no such field", tiledb_query_get_field(ctx, query, "no", &field));
  CODE("sum of texts", tiledb_create_unary_aggregate(ctx, query, sum, "s", &operation));
  CODE("sum of no field", tiledb_create_unary_aggregate(ctx, query, sum, "no", &operation));
  OK(tiledb_query_get_default_channel(ctx, query, &channel));
  OK(tiledb_create_unary_aggregate(ctx, query, sum, "a", &operation));
  CODE("a name twice", tiledb_channel_apply_aggregate(ctx, channel, "Sum", operation));
  CODE("no name", tiledb_channel_apply_aggregate(ctx, channel, NULL, operation));
  OK(tiledb_aggregate_free(ctx, &operation));
  OK(tiledb_query_channel_free(ctx, &channel));
  tiledb_query_free(&query);
  close_array(array);
}

int main(void) {
  begin();
  make("sparse", TILEDB_SPARSE);
  make("dense", TILEDB_DENSE);
  const int32_t whole[] = {1, 8}, part[] = {2, 6};
  all("sparse", 0, NULL, 0);
  all("sparse", 0, part, 0);
  all("sparse", 0, NULL, 1);
  all("dense", 1, whole, 0);
  all("dense", 1, part, 0);
  all("dense", 1, part, 1);
  fields();
  return end();
}
