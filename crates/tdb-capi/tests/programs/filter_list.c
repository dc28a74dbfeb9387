/* Filter lists: members, chunk sizes, and lists that a schema refuses. */
#include "check.h"

static void add(tiledb_filter_list_t *list, tiledb_filter_type_t type) {
  tiledb_filter_t *filter = NULL;
  OK(tiledb_filter_alloc(ctx, type, &filter));
  OK(tiledb_filter_list_add_filter(ctx, list, filter));
  tiledb_filter_free(&filter);
}

static void show(const char *words, tiledb_filter_list_t *list) {
  uint32_t count = 0, chunk = 0;
  OK(tiledb_filter_list_get_nfilters(ctx, list, &count));
  OK(tiledb_filter_list_get_max_chunk_size(ctx, list, &chunk));
  printf("%s: %u filters, chunks of %u:", words, count, chunk);
  for (uint32_t i = 0; i < count; i++) {
    tiledb_filter_t *filter = NULL;
    tiledb_filter_type_t type;
    const char *word = NULL;
    OK(tiledb_filter_list_get_filter_from_index(ctx, list, i, &filter));
    OK(tiledb_filter_get_type(ctx, filter, &type));
    OK(tiledb_filter_type_to_str(type, &word));
    printf(" %s", word);
    tiledb_filter_free(&filter);
  }
  printf("\n");
}

/* Whether an attribute of a type may have the filters. */
static void attempt(const char *words, tiledb_datatype_t type, uint32_t values, const tiledb_filter_type_t *types, size_t count) {
  tiledb_filter_list_t *list = NULL;
  tiledb_attribute_t *attribute = NULL;
  OK(tiledb_filter_list_alloc(ctx, &list));
  for (size_t i = 0; i < count; i++) add(list, types[i]);
  OK(tiledb_attribute_alloc(ctx, "a", type, &attribute));
  OK(tiledb_attribute_set_cell_val_num(ctx, attribute, values));
  CODE(words, tiledb_attribute_set_filter_list(ctx, attribute, list));
  tiledb_attribute_free(&attribute);
  tiledb_filter_list_free(&list);
}

int main(void) {
  begin();
  tiledb_filter_list_t *list = NULL, *found = NULL;
  tiledb_filter_t *filter = NULL;
  OK(tiledb_filter_list_alloc(ctx, &list));
  show("empty", list);
  CODE("the first of none", tiledb_filter_list_get_filter_from_index(ctx, list, 0, &filter));
  printf("no filter: %d\n", filter == NULL);
  CODE("the second of none", tiledb_filter_list_get_filter_from_index(ctx, list, 1, &filter));
  add(list, TILEDB_FILTER_BYTESHUFFLE);
  add(list, TILEDB_FILTER_ZSTD);
  add(list, TILEDB_FILTER_CHECKSUM_MD5);
  add(list, TILEDB_FILTER_NONE);
  OK(tiledb_filter_list_set_max_chunk_size(ctx, list, 1000));
  show("four", list);
  OK(tiledb_filter_list_set_max_chunk_size(ctx, list, 0));
  show("no chunks", list);
  OK(tiledb_filter_list_set_max_chunk_size(ctx, list, 4096));
  CODE("past the last", tiledb_filter_list_get_filter_from_index(ctx, list, 4, &filter));

  /* An attribute has a copy. */
  tiledb_attribute_t *attribute = NULL;
  OK(tiledb_attribute_alloc(ctx, "a", TILEDB_INT64, &attribute));
  OK(tiledb_attribute_get_filter_list(ctx, attribute, &found));
  show("of a new attribute", found);
  tiledb_filter_list_free(&found);
  OK(tiledb_attribute_set_filter_list(ctx, attribute, list));
  add(list, TILEDB_FILTER_BZIP2);
  OK(tiledb_attribute_get_filter_list(ctx, attribute, &found));
  show("of the attribute", found);
  show("the list, longer now", list);
  tiledb_filter_list_free(&found);
  tiledb_attribute_free(&attribute);

  /* Lists of a schema. */
  tiledb_array_schema_t *schema = new_schema(TILEDB_SPARSE);
  OK(tiledb_array_schema_get_coords_filter_list(ctx, schema, &found));
  show("coordinates", found);
  tiledb_filter_list_free(&found);
  OK(tiledb_array_schema_get_offsets_filter_list(ctx, schema, &found));
  show("offsets", found);
  tiledb_filter_list_free(&found);
  OK(tiledb_array_schema_get_validity_filter_list(ctx, schema, &found));
  show("validity", found);
  tiledb_filter_list_free(&found);
  CODE("coordinates", tiledb_array_schema_set_coords_filter_list(ctx, schema, list));
  CODE("offsets", tiledb_array_schema_set_offsets_filter_list(ctx, schema, list));
  CODE("validity", tiledb_array_schema_set_validity_filter_list(ctx, schema, list));
  OK(tiledb_array_schema_get_offsets_filter_list(ctx, schema, &found));
  show("offsets", found);
  tiledb_filter_list_free(&found);
  tiledb_array_schema_free(&schema);

  const tiledb_filter_type_t width[] = {TILEDB_FILTER_BIT_WIDTH_REDUCTION};
  const tiledb_filter_type_t scale[] = {TILEDB_FILTER_SCALE_FLOAT};
  const tiledb_filter_type_t delta[] = {TILEDB_FILTER_DOUBLE_DELTA};
  const tiledb_filter_type_t later[] = {TILEDB_FILTER_ZSTD, TILEDB_FILTER_DOUBLE_DELTA};
  const tiledb_filter_type_t words[] = {TILEDB_FILTER_DICTIONARY};
  const tiledb_filter_type_t behind[] = {TILEDB_FILTER_ZSTD, TILEDB_FILTER_DICTIONARY};
  attempt("bit width of integers", TILEDB_INT32, 1, width, 1);
  attempt("bit width of reals", TILEDB_FLOAT32, 1, width, 1);
  attempt("scaled reals", TILEDB_FLOAT64, 1, scale, 1);
  attempt("scaled integers", TILEDB_INT32, 1, scale, 1);
  attempt("scaled bytes", TILEDB_INT8, 1, scale, 1);
  attempt("double delta of integers", TILEDB_INT32, 1, delta, 1);
  attempt("double delta of reals", TILEDB_FLOAT32, 1, delta, 1);
  attempt("double delta of compressed bytes", TILEDB_FLOAT32, 1, later, 2);
  attempt("dictionary of texts", TILEDB_STRING_ASCII, TILEDB_VAR_NUM, words, 1);
  attempt("dictionary of compressed texts", TILEDB_STRING_ASCII, TILEDB_VAR_NUM, behind, 2);

  CODE("no list", tiledb_filter_list_get_nfilters(ctx, NULL, NULL));
  CODE("no filter", tiledb_filter_list_add_filter(ctx, list, NULL));
  CODE("nowhere for a list", tiledb_filter_list_alloc(ctx, NULL));
  CODE("nowhere for a filter", tiledb_filter_list_get_filter_from_index(ctx, list, 0, NULL));
  CODE("nowhere for a count", tiledb_filter_list_get_nfilters(ctx, list, NULL));
  tiledb_filter_list_free(&list);
  return end();
}
