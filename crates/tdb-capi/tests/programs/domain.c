/* Domains: dimensions by index and by name, mixed types, texts. */
#include "check.h"

static void name_of(const char *words, tiledb_dimension_t **dimension) {
  const char *name = NULL;
  OK(tiledb_dimension_get_name(ctx, *dimension, &name));
  printf("%s: %s\n", words, name);
  tiledb_dimension_free(dimension);
}

int main(void) {
  begin();
  tiledb_domain_t *domain = NULL;
  tiledb_dimension_t *dimension = NULL;
  uint32_t count = 9;
  tiledb_datatype_t type;
  const char *word = NULL;
  int32_t has = 9;

  OK(tiledb_domain_alloc(ctx, &domain));
  OK(tiledb_domain_get_ndim(ctx, domain, &count));
  printf("empty: %u dimensions\n", count);
  CODE("type of an empty domain", tiledb_domain_get_type(ctx, domain, &type));
  CODE("first of an empty domain", tiledb_domain_get_dimension_from_index(ctx, domain, 0, &dimension));
  printf("no dimension: %d\n", dimension == NULL);
  OK(tiledb_domain_has_dimension(ctx, domain, "d1", &has));
  printf("has d1: %d\n", has);
  print_domain(domain);
  tiledb_domain_free(&domain);

  domain = i32_domain(2, 1, 100, 10);
  OK(tiledb_domain_get_ndim(ctx, domain, &count));
  OK(tiledb_domain_get_type(ctx, domain, &type));
  OK(tiledb_datatype_to_str(type, &word));
  printf("%u dimensions of %s\n", count, word);
  OK(tiledb_domain_get_dimension_from_index(ctx, domain, 1, &dimension));
  name_of("by index", &dimension);
  OK(tiledb_domain_get_dimension_from_name(ctx, domain, "d1", &dimension));
  name_of("by name", &dimension);
  CODE("an index too many", tiledb_domain_get_dimension_from_index(ctx, domain, 2, &dimension));
  CODE("an unknown name", tiledb_domain_get_dimension_from_name(ctx, domain, "no", &dimension));
  OK(tiledb_domain_has_dimension(ctx, domain, "d2", &has));
  printf("has d2: %d\n", has);
  OK(tiledb_domain_has_dimension(ctx, domain, "", &has));
  printf("has an unnamed one: %d\n", has);

  /* A dimension that was added may be freed; the domain's is another handle. */
  float floats[] = {0.5f, 2.5f}, half = 0.5f;
  dimension = new_dimension("real", TILEDB_FLOAT32, floats, &half);
  OK(tiledb_domain_add_dimension(ctx, domain, dimension));
  tiledb_dimension_free(&dimension);
  dimension = new_dimension("key", TILEDB_STRING_ASCII, NULL, NULL);
  OK(tiledb_domain_add_dimension(ctx, domain, dimension));
  tiledb_dimension_free(&dimension);
  OK(tiledb_domain_get_ndim(ctx, domain, &count));
  printf("%u dimensions\n", count);
  CODE("type of mixed dimensions", tiledb_domain_get_type(ctx, domain, &type));
  print_domain(domain);
  dimension = new_dimension("", TILEDB_STRING_ASCII, NULL, NULL);
  CODE("an unnamed dimension", tiledb_domain_add_dimension(ctx, domain, dimension));
  tiledb_dimension_free(&dimension);
  OK(tiledb_domain_has_dimension(ctx, domain, "", &has));
  printf("has an unnamed one: %d\n", has);

  /* Which arrays may have the domain. */
  tiledb_array_schema_t *dense = new_schema(TILEDB_DENSE), *sparse = new_schema(TILEDB_SPARSE);
  CODE("mixed in a dense array", tiledb_array_schema_set_domain(ctx, dense, domain));
  CODE("mixed in a sparse array", tiledb_array_schema_set_domain(ctx, sparse, domain));
  tiledb_domain_t *found = NULL, *fresh = NULL;
  OK(tiledb_array_schema_get_domain(ctx, sparse, &found));
  OK(tiledb_domain_get_ndim(ctx, found, &count));
  printf("%u dimensions in the schema\n", count);
  tiledb_domain_free(&found);
  OK(tiledb_domain_alloc(ctx, &fresh));
  dimension = new_dimension("real", TILEDB_FLOAT32, floats, &half);
  OK(tiledb_domain_add_dimension(ctx, fresh, dimension));
  tiledb_dimension_free(&dimension);
  CODE("reals in a dense array", tiledb_array_schema_set_domain(ctx, dense, fresh));
  tiledb_domain_free(&fresh);
  tiledb_array_schema_free(&dense);
  tiledb_array_schema_free(&sparse);

  CODE("no domain", tiledb_domain_get_ndim(ctx, NULL, &count));
  CODE("no dimension", tiledb_domain_add_dimension(ctx, domain, NULL));
  CODE("no name", tiledb_domain_get_dimension_from_name(ctx, domain, NULL, &dimension));
  CODE("nowhere for a domain", tiledb_domain_alloc(ctx, NULL));
  CODE("nowhere for a dimension", tiledb_domain_get_dimension_from_index(ctx, domain, 0, NULL));
  CODE("nowhere for a count", tiledb_domain_get_ndim(ctx, domain, NULL));
  tiledb_domain_free(&domain);
  tiledb_domain_free(&domain);
  printf("freed: %d\n", domain == NULL);
  return end();
}
