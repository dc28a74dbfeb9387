/* Cells that can be null: fixed and variable, sparse and dense, fill values, estimates. */
#include "check.h"

static void read_sparse(const char *words, uint64_t time) {
  int32_t a[16];
  char s[64];
  uint8_t a_valid[16], s_valid[16];
  uint64_t offsets[16], sizes[] = {sizeof a, sizeof a_valid, sizeof s, sizeof offsets, sizeof s_valid};
  tiledb_array_t *array = open_at("sparse", TILEDB_READ, time);
  tiledb_query_t *query = new_query(array, TILEDB_READ, TILEDB_ROW_MAJOR);
  OK(tiledb_query_set_data_buffer(ctx, query, "a", a, &sizes[0]));
  OK(tiledb_query_set_validity_buffer(ctx, query, "a", a_valid, &sizes[1]));
  OK(tiledb_query_set_data_buffer(ctx, query, "s", s, &sizes[2]));
  OK(tiledb_query_set_offsets_buffer(ctx, query, "s", offsets, &sizes[3]));
  OK(tiledb_query_set_validity_buffer(ctx, query, "s", s_valid, &sizes[4]));
  OK(tiledb_query_submit(ctx, query));
  printf("%s: %s\n", words, status_of(query));
  print_i32("  a", a, sizes[0] / 4);
  print_u8("  valid", a_valid, sizes[1]);
  print_text("  s", s, sizes[2]);
  print_u64("  offsets", offsets, sizes[3] / 8);
  print_u8("  valid", s_valid, sizes[4]);
  tiledb_query_free(&query);
  close_array(array);
}

int main(void) {
  begin();
  tiledb_array_schema_t *schema = new_schema(TILEDB_SPARSE);
  set_i32_domain(schema, 1, 1, 100, 10);
  add_attribute(schema, "a", TILEDB_INT32, 1, 1);
  add_attribute(schema, "s", TILEDB_STRING_UTF8, TILEDB_VAR_NUM, 1);
  create("sparse", schema);
  int32_t d1[] = {5, 1, 9, 3}, a[] = {50, 10, 90, 30};
  uint8_t a_valid[] = {1, 0, 1, 0}, s_valid[] = {0, 1, 1, 0};
  char s[] = "xyyz";
  uint64_t offsets[] = {0, 1, 3, 4}, sizes[] = {16, 16, 4, 4, 32, 4};
  tiledb_array_t *array = open_at("sparse", TILEDB_WRITE, 1);
  tiledb_query_t *query = new_query(array, TILEDB_WRITE, TILEDB_UNORDERED);
  OK(tiledb_query_set_data_buffer(ctx, query, "d1", d1, &sizes[0]));
  OK(tiledb_query_set_data_buffer(ctx, query, "a", a, &sizes[1]));
  OK(tiledb_query_set_validity_buffer(ctx, query, "a", a_valid, &sizes[2]));
  OK(tiledb_query_set_data_buffer(ctx, query, "s", s, &sizes[3]));
  OK(tiledb_query_set_offsets_buffer(ctx, query, "s", offsets, &sizes[4]));
  OK(tiledb_query_set_validity_buffer(ctx, query, "s", s_valid, &sizes[5]));
  uint8_t *valid = NULL;
  uint64_t *size = NULL;
  OK(tiledb_query_get_validity_buffer(ctx, query, "s", &valid, &size));
  printf("ours: %d, %d\n", valid == s_valid, size == &sizes[5]);
  finish_write(query, array);
  read_sparse("sparse", 0);

  array = open_at("sparse", TILEDB_WRITE, 2);
  query = new_query(array, TILEDB_WRITE, TILEDB_UNORDERED);
  OK(tiledb_query_set_data_buffer(ctx, query, "d1", d1, &sizes[0]));
  OK(tiledb_query_set_data_buffer(ctx, query, "a", a, &sizes[1]));
  OK(tiledb_query_set_data_buffer(ctx, query, "s", s, &sizes[3]));
  OK(tiledb_query_set_offsets_buffer(ctx, query, "s", offsets, &sizes[4]));
  CODE("without validity", tiledb_query_submit(ctx, query));
  tiledb_query_free(&query);
  query = new_query(array, TILEDB_WRITE, TILEDB_UNORDERED);
  CODE("validity of a dimension", tiledb_query_set_validity_buffer(ctx, query, "d1", a_valid, &sizes[2]));
  CODE("no validity", tiledb_query_set_validity_buffer(ctx, query, "a", NULL, &sizes[2]));
  CODE("no size", tiledb_query_set_validity_buffer(ctx, query, "a", a_valid, NULL));
  tiledb_query_free(&query);
  close_array(array);

  array = open_at("sparse", TILEDB_READ, 0);
  query = new_query(array, TILEDB_READ, TILEDB_UNORDERED);
  uint64_t data = 0, places = 0, validity = 0;
  OK(tiledb_query_get_est_result_size_nullable(ctx, query, "a", &data, &validity));
  printf("enough: %d, %d\n", data >= 16, validity >= 4);
  OK(tiledb_query_get_est_result_size_var_nullable(ctx, query, "s", &places, &data, &validity));
  printf("enough: %d, %d, %d\n", places >= 32, data >= 4, validity >= 4);
  CODE("estimate without nulls", tiledb_query_get_est_result_size(ctx, query, "a", &data));
  tiledb_query_free(&query);
  query = new_query(array, TILEDB_READ, TILEDB_UNORDERED);
  sizes[1] = 16;
  OK(tiledb_query_set_data_buffer(ctx, query, "a", a, &sizes[1]));
  CODE("read without validity", tiledb_query_submit(ctx, query));
  tiledb_query_free(&query);
  close_array(array);

  /* Dense: cells that nobody wrote have the fill value, and its validity. */
  schema = new_schema(TILEDB_DENSE);
  set_i32_domain(schema, 1, 1, 8, 4);
  tiledb_attribute_t *attribute = NULL;
  int32_t seven = 7;
  for (int i = 0; i < 2; i++) {
    OK(tiledb_attribute_alloc(ctx, i == 0 ? "null" : "seven", TILEDB_INT32, &attribute));
    OK(tiledb_attribute_set_nullable(ctx, attribute, 1));
    if (i == 1) OK(tiledb_attribute_set_fill_value_nullable(ctx, attribute, &seven, 4, 1));
    OK(tiledb_array_schema_add_attribute(ctx, schema, attribute));
    tiledb_attribute_free(&attribute);
  }
  create("dense", schema);
  array = open_at("dense", TILEDB_WRITE, 1);
  query = new_query(array, TILEDB_WRITE, TILEDB_ROW_MAJOR);
  set_box(query, array, (int32_t[]){3, 4}, 1);
  uint8_t pair[] = {0, 1};
  uint64_t of_pair[] = {8, 2};
  const char *names[] = {"null", "seven"};
  for (int i = 0; i < 2; i++) {
    OK(tiledb_query_set_data_buffer(ctx, query, names[i], a, &of_pair[0]));
    OK(tiledb_query_set_validity_buffer(ctx, query, names[i], pair, &of_pair[1]));
  }
  finish_write(query, array);
  array = open_at("dense", TILEDB_READ, 0);
  for (int i = 0; i < 2; i++) {
    int32_t found[8];
    uint8_t found_valid[8];
    sizes[0] = sizeof found, sizes[1] = sizeof found_valid;
    query = new_query(array, TILEDB_READ, TILEDB_ROW_MAJOR);
    set_box(query, array, (int32_t[]){1, 8}, 1);
    OK(tiledb_query_set_data_buffer(ctx, query, names[i], found, &sizes[0]));
    OK(tiledb_query_set_validity_buffer(ctx, query, names[i], found_valid, &sizes[1]));
    OK(tiledb_query_submit(ctx, query));
    print_i32(names[i], found, sizes[0] / 4);
    print_u8("  valid", found_valid, sizes[1]);
    tiledb_query_free(&query);
  }
  close_array(array);
  return end();
}
