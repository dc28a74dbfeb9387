/* Evolution of schemas: attributes and enumerations added, dropped and extended. */
#include "check.h"

static void evolve(const char *words, uint64_t time, tiledb_array_schema_evolution_t *evolution) {
  OK(tiledb_array_schema_evolution_set_timestamp_range(ctx, evolution, time, time));
  CODE(words, tiledb_array_evolve(ctx, "array", evolution));
  tiledb_array_schema_evolution_free(&evolution);
}

static tiledb_array_schema_evolution_t *new_evolution(void) {
  tiledb_array_schema_evolution_t *evolution = NULL;
  OK(tiledb_array_schema_evolution_alloc(ctx, &evolution));
  return evolution;
}

static void show(const char *words, uint64_t time) {
  tiledb_array_t *array = open_at("array", TILEDB_READ, time);
  tiledb_array_schema_t *schema = NULL;
  uint32_t count = 0;
  uint64_t first = 0, last = 0;
  OK(tiledb_array_get_schema(ctx, array, &schema));
  OK(tiledb_array_schema_get_attribute_num(ctx, schema, &count));
  OK(tiledb_array_schema_timestamp_range(ctx, schema, &first, &last));
  printf("%s, of %" PRIu64 " to %" PRIu64 ":", words, first, last);
  for (uint32_t i = 0; i < count; i++) {
    tiledb_attribute_t *attribute = NULL;
    const char *name = NULL;
    OK(tiledb_array_schema_get_attribute_from_index(ctx, schema, i, &attribute));
    OK(tiledb_attribute_get_name(ctx, attribute, &name));
    printf(" %s", name);
    tiledb_attribute_free(&attribute);
  }
  printf("\n");
  tiledb_array_schema_free(&schema);
  close_array(array);
}

static void read_field(const char *name, uint64_t time) {
  int32_t values[16];
  uint64_t size = sizeof values;
  tiledb_array_t *array = open_at("array", TILEDB_READ, time);
  tiledb_query_t *query = new_query(array, TILEDB_READ, TILEDB_ROW_MAJOR);
  int code = tiledb_query_set_data_buffer(ctx, query, name, values, &size);
  if (code == TILEDB_OK) code = tiledb_query_submit(ctx, query);
  printf("  %s: %d", name, code);
  print_i32("", values, code == TILEDB_OK ? size / 4 : 0);
  tiledb_query_free(&query);
  close_array(array);
}

static void add(tiledb_array_schema_evolution_t *evolution, const char *name, int32_t fill, const char *enumeration) {
  tiledb_attribute_t *attribute = NULL;
  OK(tiledb_attribute_alloc(ctx, name, TILEDB_INT32, &attribute));
  OK(tiledb_attribute_set_fill_value(ctx, attribute, &fill, sizeof fill));
  if (enumeration != NULL) OK(tiledb_attribute_set_enumeration_name(ctx, attribute, enumeration));
  OK(tiledb_array_schema_evolution_add_attribute(ctx, evolution, attribute));
  tiledb_attribute_free(&attribute);
}

int main(void) {
  begin();
  tiledb_array_schema_t *schema = NULL;
  OK(tiledb_array_schema_alloc_at_timestamp(ctx, TILEDB_SPARSE, 1, &schema));
  set_i32_domain(schema, 1, 1, 100, 10);
  add_attribute(schema, "a", TILEDB_INT32, 1, 0);
  create("array", schema);
  int32_t d1[] = {1, 2, 3}, a[] = {10, 20, 30};
  write_sparse("array", 2, d1, a, 3);
  show("new", 0);

  tiledb_array_schema_evolution_t *evolution = new_evolution();
  add(evolution, "b", -7, NULL);
  evolve("b is added", 3, evolution);
  show("now", 0);
  show("at 2", 2);
  read_field("a", 0);
  read_field("b", 0);
  read_field("b", 2);

  tiledb_array_t *array = open_at("array", TILEDB_WRITE, 4);
  tiledb_query_t *query = new_query(array, TILEDB_WRITE, TILEDB_UNORDERED);
  int32_t more[] = {4, 5}, b[] = {400, 500};
  uint64_t size = 8;
  OK(tiledb_query_set_data_buffer(ctx, query, "d1", more, &size));
  OK(tiledb_query_set_data_buffer(ctx, query, "a", a, &size));
  OK(tiledb_query_set_data_buffer(ctx, query, "b", b, &size));
  finish_write(query, array);
  read_field("a", 0);
  read_field("b", 0);

  evolution = new_evolution();
  OK(tiledb_array_schema_evolution_drop_attribute(ctx, evolution, "a"));
  add(evolution, "c", 1, NULL);
  evolve("a is dropped, c added", 5, evolution);
  show("now", 0);
  read_field("a", 0);
  read_field("b", 0);
  read_field("c", 0);
  read_field("a", 4);

  /* Words: added, extended, dropped. */
  tiledb_enumeration_t *words = NULL, *longer = NULL, *found = NULL;
  uint64_t offsets[] = {0, 1}, one[] = {0};
  OK(tiledb_enumeration_alloc(ctx, "words", TILEDB_STRING_ASCII, TILEDB_VAR_NUM, 0, "xy", 2, offsets, 16, &words));
  evolution = new_evolution();
  OK(tiledb_array_schema_evolution_add_enumeration(ctx, evolution, words));
  add(evolution, "e", 0, "words");
  evolve("words are added", 6, evolution);
  show("now", 0);
  OK(tiledb_enumeration_extend(ctx, words, "z", 1, one, 8, &longer));
  evolution = new_evolution();
  OK(tiledb_array_schema_evolution_extend_enumeration(ctx, evolution, longer));
  evolve("words are extended", 7, evolution);
  array = open_at("array", TILEDB_READ, 0);
  const void *data = NULL;
  OK(tiledb_array_get_enumeration(ctx, array, "words", &found));
  OK(tiledb_enumeration_get_data(ctx, found, &data, &size));
  print_text("words", data, size);
  tiledb_enumeration_free(&found);
  close_array(array);
  evolution = new_evolution();
  OK(tiledb_array_schema_evolution_extend_enumeration(ctx, evolution, words));
  evolve("words become fewer", 8, evolution);
  evolution = new_evolution();
  OK(tiledb_array_schema_evolution_drop_enumeration(ctx, evolution, "words"));
  evolve("words that are in use are dropped", 8, evolution);
  evolution = new_evolution();
  OK(tiledb_array_schema_evolution_drop_attribute(ctx, evolution, "e"));
  OK(tiledb_array_schema_evolution_drop_enumeration(ctx, evolution, "words"));
  evolve("words are dropped", 9, evolution);
  show("now", 0);
  tiledb_enumeration_free(&words);
  tiledb_enumeration_free(&longer);

  evolution = new_evolution();
  OK(tiledb_array_schema_evolution_drop_attribute(ctx, evolution, "no"));
  evolve("an unknown attribute is dropped", 10, evolution);
  evolution = new_evolution();
  add(evolution, "b", 1, NULL);
  evolve("a known attribute is added", 10, evolution);
  /* All are never dropped: libtiledb 2.30 accepts that, and changes nothing. */
  show("in the end", 0);
  evolution = new_evolution();
  CODE("no attribute", tiledb_array_schema_evolution_add_attribute(ctx, evolution, NULL));
  CODE("no name", tiledb_array_schema_evolution_drop_attribute(ctx, evolution, NULL));
  CODE("no enumeration", tiledb_array_schema_evolution_add_enumeration(ctx, evolution, NULL));
  CODE("no array", tiledb_array_evolve(ctx, "missing", evolution));
  CODE("no evolution", tiledb_array_evolve(ctx, "array", NULL));
  tiledb_array_schema_evolution_free(&evolution);
  printf("freed: %d\n", evolution == NULL);
  return end();
}
