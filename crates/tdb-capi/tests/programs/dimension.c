/* Dimensions: types, domains, tile extents, texts, refusals. */
#include "check.h"

static void attempt(const char *words, tiledb_datatype_t type, const void *bounds, const void *extent) {
  tiledb_dimension_t *dimension = NULL;
  CODE(words, tiledb_dimension_alloc(ctx, "d", type, bounds, extent, &dimension));
  /* The text of one of bytes is left out: libtiledb prints the tile extent as a character. */
  if (dimension == NULL || tiledb_datatype_size(type) == 1) {
    tiledb_dimension_free(&dimension);
    return;
  }
  tiledb_string_t *text = NULL;
  OK(tiledb_dimension_dump_str(ctx, dimension, &text));
  print_string("  dump", text);
  tiledb_dimension_free(&dimension);
}

int main(void) {
  begin();
  int32_t bounds[] = {1, 10}, extent = 5;
  tiledb_dimension_t *dimension = new_dimension("rows", TILEDB_INT32, bounds, &extent);
  const char *name = NULL, *word = NULL;
  tiledb_datatype_t type;
  const void *found = NULL;
  uint32_t values = 0;
  OK(tiledb_dimension_get_name(ctx, dimension, &name));
  OK(tiledb_dimension_get_type(ctx, dimension, &type));
  OK(tiledb_datatype_to_str(type, &word));
  printf("%s %s\n", name, word);
  OK(tiledb_dimension_get_domain(ctx, dimension, &found));
  print_i32("domain", found, 2);
  OK(tiledb_dimension_get_tile_extent(ctx, dimension, &found));
  print_i32("extent", found, 1);
  OK(tiledb_dimension_get_cell_val_num(ctx, dimension, &values));
  printf("values: %u\n", values);
  OK(tiledb_dimension_set_cell_val_num(ctx, dimension, 1));
  CODE("two values", tiledb_dimension_set_cell_val_num(ctx, dimension, 2));
  CODE("a variable number", tiledb_dimension_set_cell_val_num(ctx, dimension, TILEDB_VAR_NUM));
  tiledb_filter_list_t *list = NULL;
  tiledb_filter_t *filter = NULL;
  OK(tiledb_dimension_get_filter_list(ctx, dimension, &list));
  uint32_t count = 9;
  OK(tiledb_filter_list_get_nfilters(ctx, list, &count));
  printf("filters: %u\n", count);
  OK(tiledb_filter_alloc(ctx, TILEDB_FILTER_DOUBLE_DELTA, &filter));
  OK(tiledb_filter_list_add_filter(ctx, list, filter));
  OK(tiledb_dimension_set_filter_list(ctx, dimension, list));
  tiledb_string_t *text = NULL;
  OK(tiledb_dimension_dump_str(ctx, dimension, &text));
  print_string("dump", text);
  tiledb_dimension_free(&dimension);

  dimension = new_dimension("key", TILEDB_STRING_ASCII, NULL, NULL);
  OK(tiledb_dimension_get_domain(ctx, dimension, &found));
  printf("domain of texts is null: %d\n", found == NULL);
  OK(tiledb_dimension_get_tile_extent(ctx, dimension, &found));
  printf("extent of texts is null: %d\n", found == NULL);
  OK(tiledb_dimension_get_cell_val_num(ctx, dimension, &values));
  printf("variable number: %d\n", values == TILEDB_VAR_NUM);
  CODE("one value", tiledb_dimension_set_cell_val_num(ctx, dimension, 1));
  OK(tiledb_dimension_dump_str(ctx, dimension, &text));
  print_string("dump", text);
  tiledb_dimension_free(&dimension);

  int8_t bytes[] = {-128, 127}, ten8 = 10, most8[] = {-128, 117};
  uint8_t unsigned8[] = {0, 255}, one8 = 1, small8[] = {0, 249};
  int16_t shorts[] = {-5, 5}, three16 = 3;
  uint64_t wide[] = {0, UINT64_MAX}, narrow[] = {0, UINT64_MAX - 10}, ten64 = 10, none64 = 0;
  int64_t days[] = {-100, 100}, week = 7, reversed[] = {5, 1}, minus = -2;
  double reals[] = {-1.5, 2.25}, tile = 0.5, broken[] = {0, 0.0 / 0.0}, infinite[] = {0, 1.0 / 0.0};
  float floats[] = {0, 1};
  attempt("bytes, expanded beyond the type", TILEDB_INT8, bytes, &ten8);
  attempt("bytes", TILEDB_INT8, most8, &ten8);
  attempt("unsigned bytes", TILEDB_UINT8, small8, &one8);
  attempt("all unsigned bytes", TILEDB_UINT8, unsigned8, &one8);
  attempt("shorts", TILEDB_INT16, shorts, &three16);
  attempt("shorts without an extent", TILEDB_INT16, shorts, NULL);
  attempt("all of 64 bits", TILEDB_UINT64, wide, &ten64);
  attempt("nearly all of 64 bits", TILEDB_UINT64, narrow, &ten64);
  attempt("an extent of nothing", TILEDB_UINT64, narrow, &none64);
  attempt("days", TILEDB_DATETIME_DAY, days, &week);
  attempt("hours", TILEDB_TIME_HR, days, &week);
  attempt("a negative extent", TILEDB_INT64, days, &minus);
  attempt("a domain from high to low", TILEDB_INT64, reversed, &week);
  attempt("an extent beyond the domain", TILEDB_INT32, bounds, &(int32_t){11});
  attempt("reals", TILEDB_FLOAT64, reals, &tile);
  attempt("reals without an extent", TILEDB_FLOAT32, floats, NULL);
  attempt("an end that is not a number", TILEDB_FLOAT64, broken, &tile);
  attempt("an infinite end", TILEDB_FLOAT64, infinite, &tile);
  attempt("texts with a domain", TILEDB_STRING_ASCII, bounds, NULL);
  attempt("texts with an extent", TILEDB_STRING_ASCII, NULL, &extent);
  attempt("UTF-8", TILEDB_STRING_UTF8, NULL, NULL);
  attempt("characters", TILEDB_CHAR, bytes, NULL);
  attempt("truth values", TILEDB_BOOL, small8, &one8);
  attempt("numbers without a domain", TILEDB_INT32, NULL, NULL);
  attempt("no type", (tiledb_datatype_t)200, bounds, &extent);

  CODE("no name", tiledb_dimension_alloc(ctx, NULL, TILEDB_INT32, bounds, &extent, &dimension));
  CODE("nowhere for a dimension", tiledb_dimension_alloc(ctx, "d", TILEDB_INT32, bounds, &extent, NULL));
  CODE("no dimension", tiledb_dimension_get_name(ctx, NULL, &name));
  tiledb_filter_free(&filter);
  tiledb_filter_list_free(&list);
  return end();
}
