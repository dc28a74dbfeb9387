/* Array schemas: properties, members, checks, texts, what is stored. */
#include "check.h"

static void show(tiledb_array_schema_t *schema) {
  tiledb_array_type_t type;
  tiledb_layout_t tile, cell;
  uint64_t capacity = 0;
  int dups = 9;
  uint32_t version = 0, attributes = 0;
  const char *words[3];
  OK(tiledb_array_schema_get_array_type(ctx, schema, &type));
  OK(tiledb_array_schema_get_tile_order(ctx, schema, &tile));
  OK(tiledb_array_schema_get_cell_order(ctx, schema, &cell));
  OK(tiledb_array_schema_get_capacity(ctx, schema, &capacity));
  OK(tiledb_array_schema_get_allows_dups(ctx, schema, &dups));
  OK(tiledb_array_schema_get_version(ctx, schema, &version));
  OK(tiledb_array_schema_get_attribute_num(ctx, schema, &attributes));
  OK(tiledb_array_type_to_str(type, &words[0]));
  OK(tiledb_layout_to_str(tile, &words[1]));
  OK(tiledb_layout_to_str(cell, &words[2]));
  printf("%s, tiles %s, cells %s, capacity %" PRIu64 ", dups %d, version %u, attributes %u\n",
         words[0], words[1], words[2], capacity, dups, version, attributes);
}

static void dump(tiledb_array_schema_t *schema) {
  tiledb_string_t *text = NULL;
  OK(tiledb_array_schema_dump_str(ctx, schema, &text));
  print_string("dump", text);
}

static void name_of(tiledb_attribute_t *attribute) {
  const char *name = NULL;
  OK(tiledb_attribute_get_name(ctx, attribute, &name));
  printf("attribute |%s|\n", name);
  tiledb_attribute_free(&attribute);
}

int main(void) {
  begin();
  tiledb_array_schema_t *schema = new_schema(TILEDB_DENSE), *loaded = NULL;
  tiledb_attribute_t *attribute = NULL;
  tiledb_domain_t *domain = NULL;
  show(schema);
  CODE("check of nothing", tiledb_array_schema_check(ctx, schema));
  CODE("first attribute of none", tiledb_array_schema_get_attribute_from_index(ctx, schema, 0, &attribute));
  printf("no attribute: %d\n", attribute == NULL);
  CODE("duplicates in a dense array", tiledb_array_schema_set_allows_dups(ctx, schema, 1));
  CODE("unordered cells", tiledb_array_schema_set_cell_order(ctx, schema, TILEDB_UNORDERED));
  CODE("unordered tiles", tiledb_array_schema_set_tile_order(ctx, schema, TILEDB_UNORDERED));
  CODE("Hilbert tiles", tiledb_array_schema_set_tile_order(ctx, schema, TILEDB_HILBERT));
  CODE("no capacity", tiledb_array_schema_set_capacity(ctx, schema, 0));
  OK(tiledb_array_schema_set_cell_order(ctx, schema, TILEDB_COL_MAJOR));
  OK(tiledb_array_schema_set_tile_order(ctx, schema, TILEDB_COL_MAJOR));
  OK(tiledb_array_schema_set_capacity(ctx, schema, 77));
  set_i32_domain(schema, 2, 1, 10, 5);
  CODE("check without attributes", tiledb_array_schema_check(ctx, schema));
  add_attribute(schema, "a", TILEDB_INT32, 1, 0);
  add_attribute(schema, "", TILEDB_FLOAT64, 2, 1);
  add_attribute(schema, "s", TILEDB_STRING_UTF8, TILEDB_VAR_NUM, 0);
  OK(tiledb_array_schema_check(ctx, schema));
  show(schema);
  dump(schema);

  int32_t has = 9;
  OK(tiledb_array_schema_has_attribute(ctx, schema, "s", &has));
  printf("has s: %d\n", has);
  OK(tiledb_array_schema_has_attribute(ctx, schema, "t", &has));
  printf("has t: %d\n", has);
  OK(tiledb_array_schema_has_attribute(ctx, schema, "", &has));
  printf("has the unnamed one: %d\n", has);
  OK(tiledb_array_schema_get_attribute_from_index(ctx, schema, 2, &attribute));
  name_of(attribute);
  OK(tiledb_array_schema_get_attribute_from_name(ctx, schema, "", &attribute));
  name_of(attribute);
  CODE("an index too many", tiledb_array_schema_get_attribute_from_index(ctx, schema, 3, &attribute));
  CODE("an unknown name", tiledb_array_schema_get_attribute_from_name(ctx, schema, "t", &attribute));
  CODE("no name", tiledb_array_schema_get_attribute_from_name(ctx, schema, NULL, &attribute));

  /* Stored and loaded. */
  OK(tiledb_array_create(ctx, "array", schema));
  CODE("created again", tiledb_array_create(ctx, "array", schema));
  OK(tiledb_array_schema_load(ctx, "array", &loaded));
  show(loaded);
  dump(loaded);
  uint64_t low = 9, high = 9;
  OK(tiledb_array_schema_timestamp_range(ctx, loaded, &low, &high));
  printf("one time: %d, not zero: %d\n", low == high, low != 0);
  tiledb_array_schema_free(&loaded);
  tiledb_array_schema_free(&schema);

  /* A name twice. */
  schema = new_schema(TILEDB_SPARSE);
  set_i32_domain(schema, 1, 1, 10, 5);
  add_attribute(schema, "a", TILEDB_INT32, 1, 0);
  OK(tiledb_attribute_alloc(ctx, "a", TILEDB_INT8, &attribute));
  CODE("a name twice", tiledb_array_schema_add_attribute(ctx, schema, attribute));
  CODE("  checked", tiledb_array_schema_check(ctx, schema));
  tiledb_attribute_free(&attribute);
  tiledb_array_schema_free(&schema);

  /* Sparse, in Hilbert order, at a time of its own. */
  OK(tiledb_array_schema_alloc_at_timestamp(ctx, TILEDB_SPARSE, 5, &schema));
  OK(tiledb_array_schema_timestamp_range(ctx, schema, &low, &high));
  printf("times %" PRIu64 ", %" PRIu64 "\n", low, high);
  show(schema);
  OK(tiledb_array_schema_set_allows_dups(ctx, schema, 1));
  OK(tiledb_array_schema_set_cell_order(ctx, schema, TILEDB_HILBERT));
  set_text_domain(schema, "key");
  CODE("an attribute named as the dimension", tiledb_attribute_alloc(ctx, "key", TILEDB_INT8, &attribute));
  CODE("  added", tiledb_array_schema_add_attribute(ctx, schema, attribute));
  CODE("  checked", tiledb_array_schema_check(ctx, schema));
  tiledb_attribute_free(&attribute);
  tiledb_array_schema_free(&schema);
  OK(tiledb_array_schema_alloc_at_timestamp(ctx, TILEDB_SPARSE, 5, &schema));
  OK(tiledb_array_schema_set_allows_dups(ctx, schema, 1));
  OK(tiledb_array_schema_set_cell_order(ctx, schema, TILEDB_HILBERT));
  set_text_domain(schema, "key");
  CODE("check of a sparse one", tiledb_array_schema_check(ctx, schema));
  OK(tiledb_array_create(ctx, "keys", schema));
  OK(tiledb_array_schema_load_with_config(ctx, NULL, "keys", &loaded));
  show(loaded);
  OK(tiledb_array_schema_get_domain(ctx, loaded, &domain));
  print_domain(domain);
  tiledb_domain_free(&domain);
  tiledb_array_schema_free(&loaded);

  CODE("no array", tiledb_array_schema_load(ctx, "missing", &loaded));
  CODE("no name of an array", tiledb_array_schema_load(ctx, NULL, &loaded));
  CODE("nowhere for a schema", tiledb_array_schema_alloc(ctx, TILEDB_DENSE, NULL));
  CODE("no schema", tiledb_array_schema_check(ctx, NULL));
  CODE("no domain", tiledb_array_schema_set_domain(ctx, schema, NULL));
  CODE("no attribute", tiledb_array_schema_add_attribute(ctx, schema, NULL));
  CODE("no schema to create", tiledb_array_create(ctx, "other", NULL));
  tiledb_array_schema_free(&schema);
  return end();
}
