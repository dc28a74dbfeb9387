/* Rectangles of a domain: ranges by index and by name, of numbers and of texts. */
#include "check.h"

static tiledb_range_t range_of(const void *low, uint64_t low_size, const void *high, uint64_t high_size) {
  tiledb_range_t range = {.min = low, .min_size = low_size, .max = high, .max_size = high_size};
  return range;
}

int main(void) {
  begin();
  tiledb_domain_t *domain = i32_domain(2, 1, 100, 10);
  tiledb_dimension_t *dimension = new_dimension("key", TILEDB_STRING_ASCII, NULL, NULL);
  OK(tiledb_domain_add_dimension(ctx, domain, dimension));
  tiledb_dimension_free(&dimension);

  tiledb_ndrectangle_t *rectangle = NULL;
  OK(tiledb_ndrectangle_alloc(ctx, domain, &rectangle));
  uint32_t count = 0;
  OK(tiledb_ndrectangle_get_dim_num(ctx, rectangle, &count));
  printf("%u dimensions\n", count);
  for (uint32_t i = 0; i < count; i++) {
    tiledb_datatype_t type;
    const char *word = NULL;
    OK(tiledb_ndrectangle_get_dtype(ctx, rectangle, i, &type));
    OK(tiledb_datatype_to_str(type, &word));
    printf("  %s\n", word);
  }
  tiledb_datatype_t type;
  OK(tiledb_ndrectangle_get_dtype_from_name(ctx, rectangle, "key", &type));
  printf("key is text: %d\n", type == TILEDB_STRING_ASCII);

  int32_t low = 3, high = 30;
  tiledb_range_t range = range_of(&low, sizeof low, &high, sizeof high), found;
  OK(tiledb_ndrectangle_set_range(ctx, rectangle, 0, &range));
  low = 5, high = 50;
  OK(tiledb_ndrectangle_set_range_for_name(ctx, rectangle, "d2", &range));
  tiledb_range_t texts = range_of("b", 1, "cat", 3);
  OK(tiledb_ndrectangle_set_range_for_name(ctx, rectangle, "key", &texts));

  OK(tiledb_ndrectangle_get_range(ctx, rectangle, 0, &found));
  printf("d1: %d to %d, sizes %" PRIu64 " and %" PRIu64 "\n", *(const int32_t *)found.min,
         *(const int32_t *)found.max, found.min_size, found.max_size);
  OK(tiledb_ndrectangle_get_range_from_name(ctx, rectangle, "d2", &found));
  printf("d2: %d to %d\n", *(const int32_t *)found.min, *(const int32_t *)found.max);
  OK(tiledb_ndrectangle_get_range_from_name(ctx, rectangle, "key", &found));
  print_text("key from", found.min, found.min_size);
  print_text("key to", found.max, found.max_size);
  tiledb_string_t *text = NULL;
  OK(tiledb_ndrectangle_dump_str(ctx, rectangle, &text));
  print_string("dump", text);

  /* A range may be set again. */
  low = 7, high = 7;
  OK(tiledb_ndrectangle_set_range(ctx, rectangle, 0, &range));
  OK(tiledb_ndrectangle_get_range(ctx, rectangle, 0, &found));
  printf("d1: %d to %d\n", *(const int32_t *)found.min, *(const int32_t *)found.max);

  low = 9, high = 8;
  CODE("from high to low", tiledb_ndrectangle_set_range(ctx, rectangle, 0, &range));
  low = 1, high = 2;
  range.min_size = 8;
  CODE("a wrong size", tiledb_ndrectangle_set_range(ctx, rectangle, 0, &range));
  range.min_size = 4;
  CODE("an index too many", tiledb_ndrectangle_set_range(ctx, rectangle, 3, &range));
  CODE("an unknown name", tiledb_ndrectangle_set_range_for_name(ctx, rectangle, "no", &range));
  CODE("no range", tiledb_ndrectangle_set_range(ctx, rectangle, 0, NULL));
  CODE("a range of an index too many", tiledb_ndrectangle_get_range(ctx, rectangle, 3, &found));
  CODE("a range of an unknown name", tiledb_ndrectangle_get_range_from_name(ctx, rectangle, "no", &found));
  CODE("a type of an index too many", tiledb_ndrectangle_get_dtype(ctx, rectangle, 3, &type));
  CODE("a type of an unknown name", tiledb_ndrectangle_get_dtype_from_name(ctx, rectangle, "no", &type));
  CODE("nowhere for a range", tiledb_ndrectangle_get_range(ctx, rectangle, 0, NULL));
  CODE("no rectangle", tiledb_ndrectangle_get_dim_num(ctx, NULL, &count));
  CODE("no domain", tiledb_ndrectangle_alloc(ctx, NULL, &rectangle));
  CODE("nowhere for a rectangle", tiledb_ndrectangle_alloc(ctx, domain, NULL));

  /* The rectangle outlives its domain. */
  tiledb_domain_free(&domain);
  OK(tiledb_ndrectangle_get_range(ctx, rectangle, 1, &found));
  printf("d2: %d to %d\n", *(const int32_t *)found.min, *(const int32_t *)found.max);
  CODE("freed", tiledb_ndrectangle_free(&rectangle));
  printf("null: %d\n", rectangle == NULL);
  return end();
}
