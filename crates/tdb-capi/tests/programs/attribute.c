/* Attributes: types, numbers of values, fill values, nulls, texts. */
#include "check.h"

static void show(tiledb_attribute_t *attribute) {
  const char *name = NULL, *word = NULL;
  tiledb_datatype_t type;
  uint32_t values = 0;
  uint64_t size = 0;
  uint8_t nullable = 9;
  OK(tiledb_attribute_get_name(ctx, attribute, &name));
  OK(tiledb_attribute_get_type(ctx, attribute, &type));
  OK(tiledb_datatype_to_str(type, &word));
  OK(tiledb_attribute_get_cell_val_num(ctx, attribute, &values));
  OK(tiledb_attribute_get_cell_size(ctx, attribute, &size));
  OK(tiledb_attribute_get_nullable(ctx, attribute, &nullable));
  printf("|%s| %s, %u values, %" PRIu64 " bytes, nullable %u\n", name, word, values, size, nullable);
}

static void fill(tiledb_attribute_t *attribute) {
  const void *value = NULL;
  uint64_t size = 0;
  uint8_t valid = 9;
  if (tiledb_attribute_get_fill_value(ctx, attribute, &value, &size) == TILEDB_OK) {
    print_u8("  fill", value, size);
  } else if (tiledb_attribute_get_fill_value_nullable(ctx, attribute, &value, &size, &valid) == TILEDB_OK) {
    printf("  valid %u", valid);
    print_u8(", fill", value, size);
  } else {
    printf("  no fill value\n");
  }
}

static tiledb_attribute_t *of_type(const char *name, tiledb_datatype_t type) {
  tiledb_attribute_t *attribute = NULL;
  OK(tiledb_attribute_alloc(ctx, name, type, &attribute));
  return attribute;
}

int main(void) {
  begin();
  tiledb_attribute_t *attribute = NULL;

  /* The type ANY is left out: it has always a variable number of values. */
  for (int type = TILEDB_INT32; type <= TILEDB_GEOM_WKT; type++) {
    if (type == TILEDB_ANY) continue;
    attribute = of_type("a", (tiledb_datatype_t)type);
    show(attribute);
    fill(attribute);
    tiledb_attribute_free(&attribute);
  }

  attribute = of_type("", TILEDB_INT32);
  show(attribute);
  int32_t seven = 7, three[] = {1, 2, 3};
  OK(tiledb_attribute_set_fill_value(ctx, attribute, &seven, sizeof seven));
  fill(attribute);
  CODE("a short fill value", tiledb_attribute_set_fill_value(ctx, attribute, &seven, 2));
  CODE("no fill value", tiledb_attribute_set_fill_value(ctx, attribute, NULL, 4));
  CODE("a fill value of no bytes", tiledb_attribute_set_fill_value(ctx, attribute, &seven, 0));
  CODE("a null that is not allowed", tiledb_attribute_set_fill_value_nullable(ctx, attribute, &seven, 4, 0));
  OK(tiledb_attribute_set_cell_val_num(ctx, attribute, 3));
  show(attribute);
  fill(attribute);
  OK(tiledb_attribute_set_fill_value(ctx, attribute, three, sizeof three));
  fill(attribute);
  OK(tiledb_attribute_set_nullable(ctx, attribute, 1));
  show(attribute);
  fill(attribute);
  CODE("without validity", tiledb_attribute_set_fill_value(ctx, attribute, three, sizeof three));
  OK(tiledb_attribute_set_fill_value_nullable(ctx, attribute, three, sizeof three, 1));
  fill(attribute);
  OK(tiledb_attribute_set_nullable(ctx, attribute, 0));
  fill(attribute);
  CODE("no values", tiledb_attribute_set_cell_val_num(ctx, attribute, 0));
  tiledb_attribute_free(&attribute);

  attribute = of_type("text", TILEDB_STRING_UTF8);
  OK(tiledb_attribute_set_cell_val_num(ctx, attribute, TILEDB_VAR_NUM));
  show(attribute);
  fill(attribute);
  OK(tiledb_attribute_set_fill_value(ctx, attribute, "none", 4));
  fill(attribute);
  OK(tiledb_attribute_set_nullable(ctx, attribute, 1));
  tiledb_string_t *string = NULL;
  OK(tiledb_attribute_dump_str(ctx, attribute, &string));
  print_string("dump", string);
  tiledb_attribute_free(&attribute);

  attribute = of_type("real", TILEDB_FLOAT64);
  tiledb_filter_list_t *list = NULL;
  tiledb_filter_t *filter = NULL;
  OK(tiledb_filter_list_alloc(ctx, &list));
  OK(tiledb_filter_alloc(ctx, TILEDB_FILTER_LZ4, &filter));
  OK(tiledb_filter_list_add_filter(ctx, list, filter));
  OK(tiledb_attribute_set_filter_list(ctx, attribute, list));
  double half = 0.5;
  OK(tiledb_attribute_set_fill_value(ctx, attribute, &half, sizeof half));
  OK(tiledb_attribute_dump_str(ctx, attribute, &string));
  print_string("dump", string);

  OK(tiledb_attribute_get_enumeration_name(ctx, attribute, &string));
  printf("no enumeration: %d\n", string == NULL);
  CODE("an enumeration of reals", tiledb_attribute_set_enumeration_name(ctx, attribute, "words"));
  tiledb_attribute_t *other = of_type("b", TILEDB_INT16);
  CODE("an enumeration", tiledb_attribute_set_enumeration_name(ctx, other, "words"));
  OK(tiledb_attribute_get_enumeration_name(ctx, other, &string));
  print_string("enumeration", string);
  tiledb_attribute_free(&other);

  CODE("no name", tiledb_attribute_alloc(ctx, NULL, TILEDB_INT32, &other));
  CODE("nowhere for an attribute", tiledb_attribute_alloc(ctx, "a", TILEDB_INT32, NULL));
  CODE("no type", tiledb_attribute_alloc(ctx, "a", (tiledb_datatype_t)200, &other));
  CODE("no attribute", tiledb_attribute_get_cell_val_num(ctx, NULL, NULL));
  CODE("nowhere for a name", tiledb_attribute_get_name(ctx, attribute, NULL));
  CODE("no filters", tiledb_attribute_set_filter_list(ctx, attribute, NULL));
  CODE("no name of an enumeration", tiledb_attribute_set_enumeration_name(ctx, attribute, NULL));
  tiledb_attribute_free(&attribute);
  tiledb_filter_free(&filter);
  tiledb_filter_list_free(&list);
  return end();
}
