/* Current domains: of rectangles, in schemas, and expanded by evolution. */
#include "check.h"

static tiledb_ndrectangle_t *rectangle_of(tiledb_domain_t *domain, int32_t low, int32_t high) {
  tiledb_ndrectangle_t *rectangle = NULL;
  OK(tiledb_ndrectangle_alloc(ctx, domain, &rectangle));
  tiledb_range_t range = {.min = &low, .min_size = 4, .max = &high, .max_size = 4};
  OK(tiledb_ndrectangle_set_range(ctx, rectangle, 0, &range));
  OK(tiledb_ndrectangle_set_range(ctx, rectangle, 1, &range));
  return rectangle;
}

static tiledb_current_domain_t *current_of(tiledb_domain_t *domain, int32_t low, int32_t high) {
  tiledb_ndrectangle_t *rectangle = rectangle_of(domain, low, high);
  tiledb_current_domain_t *current = NULL;
  OK(tiledb_current_domain_create(ctx, &current));
  OK(tiledb_current_domain_set_ndrectangle(ctx, current, rectangle));
  OK(tiledb_ndrectangle_free(&rectangle));
  return current;
}

static void show(const char *words, tiledb_current_domain_t *current) {
  uint32_t empty = 9;
  OK(tiledb_current_domain_get_is_empty(ctx, current, &empty));
  printf("%s: empty %u", words, empty);
  if (!empty) {
    tiledb_current_domain_type_t type;
    tiledb_ndrectangle_t *rectangle = NULL;
    tiledb_range_t range;
    OK(tiledb_current_domain_get_type(ctx, current, &type));
    OK(tiledb_current_domain_get_ndrectangle(ctx, current, &rectangle));
    OK(tiledb_ndrectangle_get_range(ctx, rectangle, 1, &range));
    printf(", a rectangle %d, %d to %d", type == TILEDB_NDRECTANGLE, *(const int32_t *)range.min,
           *(const int32_t *)range.max);
    OK(tiledb_ndrectangle_free(&rectangle));
  }
  printf("\n");
}

static void of_array(const char *words) {
  tiledb_array_schema_t *schema = NULL;
  tiledb_current_domain_t *current = NULL;
  OK(tiledb_array_schema_load(ctx, "array", &schema));
  OK(tiledb_array_schema_get_current_domain(ctx, schema, &current));
  show(words, current);
  OK(tiledb_current_domain_free(&current));
  tiledb_array_schema_free(&schema);
}

static void evolve(const char *words, tiledb_domain_t *domain, int32_t low, int32_t high, uint64_t time) {
  tiledb_array_schema_evolution_t *evolution = NULL;
  tiledb_current_domain_t *current = current_of(domain, low, high);
  OK(tiledb_array_schema_evolution_alloc(ctx, &evolution));
  OK(tiledb_array_schema_evolution_set_timestamp_range(ctx, evolution, time, time));
  int code = tiledb_array_schema_evolution_expand_current_domain(ctx, evolution, current);
  if (code == TILEDB_OK) code = tiledb_array_evolve(ctx, "array", evolution);
  CODE(words, code);
  tiledb_array_schema_evolution_free(&evolution);
  OK(tiledb_current_domain_free(&current));
}

int main(void) {
  begin();
  tiledb_domain_t *domain = i32_domain(2, 1, 100, 10);
  tiledb_current_domain_t *current = NULL, *found = NULL;
  tiledb_current_domain_type_t type;
  tiledb_ndrectangle_t *rectangle = NULL;
  tiledb_string_t *text = NULL;

  OK(tiledb_current_domain_create(ctx, &current));
  show("new", current);
  CODE("type of an empty one", tiledb_current_domain_get_type(ctx, current, &type));
  CODE("rectangle of an empty one", tiledb_current_domain_get_ndrectangle(ctx, current, &rectangle));
  OK(tiledb_current_domain_dump_str(ctx, current, &text));
  print_string("dump", text);
  OK(tiledb_current_domain_free(&current));

  current = current_of(domain, 5, 50);
  show("of a rectangle", current);
  rectangle = rectangle_of(domain, 6, 60);
  CODE("another rectangle", tiledb_current_domain_set_ndrectangle(ctx, current, rectangle));
  show("after it", current);
  CODE("no rectangle", tiledb_current_domain_set_ndrectangle(ctx, current, NULL));
  OK(tiledb_ndrectangle_free(&rectangle));

  tiledb_array_schema_t *schema = new_schema(TILEDB_SPARSE);
  OK(tiledb_array_schema_set_domain(ctx, schema, domain));
  add_attribute(schema, "a", TILEDB_INT32, 1, 0);
  OK(tiledb_array_schema_get_current_domain(ctx, schema, &found));
  show("of a new schema", found);
  OK(tiledb_current_domain_free(&found));
  OK(tiledb_array_schema_set_current_domain(ctx, schema, current));
  OK(tiledb_array_schema_get_current_domain(ctx, schema, &found));
  show("of the schema", found);
  OK(tiledb_current_domain_free(&found));
  OK(tiledb_current_domain_free(&current));
  tiledb_array_schema_free(&schema);

  /* The schema has an early time, so that evolutions are later. */
  OK(tiledb_array_schema_alloc_at_timestamp(ctx, TILEDB_SPARSE, 1, &schema));
  OK(tiledb_array_schema_set_domain(ctx, schema, domain));
  add_attribute(schema, "a", TILEDB_INT32, 1, 0);
  current = current_of(domain, 5, 50);
  OK(tiledb_array_schema_set_current_domain(ctx, schema, current));
  OK(tiledb_current_domain_free(&current));
  create("array", schema);
  of_array("of the array");
  evolve("larger", domain, 5, 60, 2);
  of_array("of the array");
  evolve("smaller", domain, 5, 40, 3);
  evolve("beyond the domain", domain, 0, 100, 4);
  of_array("of the array");
  evolve("the same", domain, 5, 60, 5);

  /* Writes outside are refused, and reads know where it ends. */
  const int32_t rows[][2] = {{5, 6}, {60, 61}, {4, 5}, {60, 60}};
  for (size_t i = 0; i < COUNT(rows); i++) {
    tiledb_array_t *array = open_at("array", TILEDB_WRITE, 10 + i);
    tiledb_query_t *query = new_query(array, TILEDB_WRITE, TILEDB_UNORDERED);
    int32_t d1[] = {rows[i][0], rows[i][1]}, d2[] = {7, 8}, a[] = {1, 2};
    uint64_t sizes[] = {8, 8, 8};
    OK(tiledb_query_set_data_buffer(ctx, query, "d1", d1, &sizes[0]));
    OK(tiledb_query_set_data_buffer(ctx, query, "d2", d2, &sizes[1]));
    OK(tiledb_query_set_data_buffer(ctx, query, "a", a, &sizes[2]));
    printf("write %d, %d: %d\n", d1[0], d1[1], tiledb_query_submit(ctx, query));
    tiledb_query_free(&query);
    close_array(array);
  }

  CODE("no current domain", tiledb_current_domain_get_is_empty(ctx, NULL, NULL));
  CODE("nowhere for a current domain", tiledb_current_domain_create(ctx, NULL));
  tiledb_domain_free(&domain);
  return end();
}
