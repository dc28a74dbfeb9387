/* Enumerations: values, offsets, indices, extension, attributes with words. */
#include "check.h"

static void show(tiledb_enumeration_t *enumeration) {
  tiledb_string_t *name = NULL;
  tiledb_datatype_t type;
  const char *word = NULL;
  uint32_t values = 0;
  int ordered = 9;
  const void *data = NULL, *offsets = NULL;
  uint64_t data_size = 9, offsets_size = 9;
  OK(tiledb_enumeration_get_name(ctx, enumeration, &name));
  print_string("name", name);
  OK(tiledb_enumeration_get_type(ctx, enumeration, &type));
  OK(tiledb_datatype_to_str(type, &word));
  OK(tiledb_enumeration_get_cell_val_num(ctx, enumeration, &values));
  OK(tiledb_enumeration_get_ordered(ctx, enumeration, &ordered));
  OK(tiledb_enumeration_get_data(ctx, enumeration, &data, &data_size));
  OK(tiledb_enumeration_get_offsets(ctx, enumeration, &offsets, &offsets_size));
  printf("  %s, %u values, ordered %d, no offsets %d\n", word, values, ordered, offsets == NULL);
  print_u8("  data", data, data_size);
  print_u64("  offsets", offsets, offsets_size / 8);
}

static void find(tiledb_enumeration_t *enumeration, const void *value, uint64_t size) {
  int exists = 9;
  uint64_t index = 77;
  int code = tiledb_enumeration_get_value_index(ctx, enumeration, value, size, &exists, &index);
  printf("  find: %d, exists %d", code, exists);
  if (exists == 1) printf(", index %" PRIu64, index);
  printf("\n");
}

int main(void) {
  begin();
  tiledb_enumeration_t *words = NULL, *numbers = NULL, *longer = NULL, *other = NULL;
  const char *text = "redgreenblue";
  uint64_t offsets[] = {0, 3, 8};
  OK(tiledb_enumeration_alloc(
      ctx, "colours", TILEDB_STRING_ASCII, TILEDB_VAR_NUM, 0, text, 12, offsets, sizeof offsets, &words));
  show(words);
  find(words, "green", 5);
  find(words, "gree", 4);
  find(words, "", 0);
  int32_t values[] = {10, 20, 30}, twenty = 20, four = 4;
  OK(tiledb_enumeration_alloc(
      ctx, "tens", TILEDB_INT32, 1, 1, values, sizeof values, NULL, 0, &numbers));
  show(numbers);
  find(numbers, &twenty, 4);
  find(numbers, &four, 4);
  find(numbers, &four, 2);
  tiledb_string_t *dump = NULL;
  OK(tiledb_enumeration_dump_str(ctx, words, &dump));
  print_string("dump", dump);
  OK(tiledb_enumeration_dump_str(ctx, numbers, &dump));
  print_string("dump", dump);

  uint64_t more[] = {0, 6};
  OK(tiledb_enumeration_extend(ctx, words, "yellowblack", 11, more, sizeof more, &longer));
  show(longer);
  CODE("a word twice", tiledb_enumeration_extend(ctx, words, "red", 3, more, 8, &other));
  CODE("no words", tiledb_enumeration_extend(ctx, words, NULL, 0, NULL, 0, &other));

  /* Descending offsets are left out: libtiledb 2.30 crashes on them. */
  uint64_t late[] = {0, 30};
  CODE("an offset past the end", tiledb_enumeration_alloc(
      ctx, "e", TILEDB_STRING_ASCII, TILEDB_VAR_NUM, 0, text, 12, late, sizeof late, &other));
  CODE("equal words", tiledb_enumeration_alloc(
      ctx, "e", TILEDB_STRING_ASCII, TILEDB_VAR_NUM, 0, "aa", 2, (uint64_t[]){0, 1}, 16, &other));
  CODE("texts without offsets", tiledb_enumeration_alloc(
      ctx, "e", TILEDB_STRING_ASCII, TILEDB_VAR_NUM, 0, text, 12, NULL, 0, &other));
  CODE("numbers with offsets", tiledb_enumeration_alloc(
      ctx, "e", TILEDB_INT32, 1, 0, values, 12, offsets, sizeof offsets, &other));
  CODE("half a number", tiledb_enumeration_alloc(
      ctx, "e", TILEDB_INT32, 1, 0, values, 10, NULL, 0, &other));
  CODE("no name", tiledb_enumeration_alloc(
      ctx, NULL, TILEDB_INT32, 1, 0, values, 12, NULL, 0, &other));
  CODE("no values for a size", tiledb_enumeration_alloc(
      ctx, "e", TILEDB_INT32, 1, 0, NULL, 12, NULL, 0, &other));
  CODE("nothing in it", tiledb_enumeration_alloc(
      ctx, "nothing", TILEDB_INT32, 1, 0, NULL, 0, NULL, 0, &other));
  show(other);
  tiledb_enumeration_free(&other);

  /* In a schema: the enumeration comes before the attribute that names it. */
  tiledb_array_schema_t *schema = new_schema(TILEDB_DENSE);
  tiledb_attribute_t *attribute = NULL;
  set_i32_domain(schema, 1, 1, 4, 2);
  OK(tiledb_attribute_alloc(ctx, "a", TILEDB_INT8, &attribute));
  OK(tiledb_attribute_set_enumeration_name(ctx, attribute, "colours"));
  CODE("an attribute before its words", tiledb_array_schema_add_attribute(ctx, schema, attribute));
  OK(tiledb_array_schema_add_enumeration(ctx, schema, words));
  CODE("the same words again", tiledb_array_schema_add_enumeration(ctx, schema, words));
  OK(tiledb_array_schema_add_attribute(ctx, schema, attribute));
  CODE("words of a name", tiledb_array_schema_get_enumeration_from_name(ctx, schema, "colours", &other));
  tiledb_enumeration_free(&other);
  CODE("words of no name", tiledb_array_schema_get_enumeration_from_name(ctx, schema, "no", &other));
  OK(tiledb_array_schema_get_enumeration_from_attribute_name(ctx, schema, "a", &other));
  show(other);
  tiledb_enumeration_free(&other);
  tiledb_attribute_free(&attribute);
  create("array", schema);

  tiledb_array_t *array = open_at("array", TILEDB_READ, 0);
  OK(tiledb_array_load_all_enumerations(ctx, array));
  OK(tiledb_array_load_enumerations_all_schemas(ctx, array));
  OK(tiledb_array_get_enumeration(ctx, array, "colours", &other));
  show(other);
  tiledb_enumeration_free(&other);
  CODE("words that the array has not", tiledb_array_get_enumeration(ctx, array, "no", &other));
  CODE("no name", tiledb_array_get_enumeration(ctx, array, NULL, &other));
  close_array(array);

  tiledb_enumeration_free(&words);
  tiledb_enumeration_free(&numbers);
  tiledb_enumeration_free(&longer);
  CODE("no enumeration", tiledb_enumeration_get_ordered(ctx, NULL, NULL));
  return end();
}
