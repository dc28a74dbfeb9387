/* Help for the programs of this folder: calls that must succeed are checked, codes and values are
 * printed, and the parts of a schema are made in a line each.
 *
 * Two libraries are compared by standard output. It has no times, addresses, random names or
 * absolute paths, and of errors the code alone. */
#ifndef TDB_CHECK_H
#define TDB_CHECK_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tiledb/tiledb.h>
#include <tiledb/tiledb_experimental.h>

/* The context of the program. */
static tiledb_ctx_t *ctx;

/* A call that must return TILEDB_OK: otherwise the program says where, why, and ends with 1. */
#define OK(call) ok((call), #call, __FILE__, __LINE__)

/* A call whose code is printed, most often because it is refused. */
#define CODE(words, call) printf("%s: code %d\n", words, (int)(call))

/* The number of values of an array of C. */
#define COUNT(values) (sizeof(values) / sizeof((values)[0]))

static inline void ok(int code, const char *call, const char *file, int line) {
  if (code == TILEDB_OK) return;
  tiledb_error_t *error = NULL;
  const char *text = "no text";
  if (ctx != NULL && tiledb_ctx_get_last_error(ctx, &error) == TILEDB_OK && error != NULL) {
    tiledb_error_message(error, &text);
  }
  printf("%s:%d: %s: code %d\n", file, line, call, code);
  fprintf(stderr, "%s:%d: %s\n", file, line, text);
  fflush(stdout);
  exit(1);
}

static inline void begin(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  OK(tiledb_ctx_alloc(NULL, &ctx));
}

static inline int end(void) {
  tiledb_ctx_free(&ctx);
  return 0;
}

/* Prints the numbers of a buffer in a line. */
#define PRINT(words, format, values, count)                                                        \
  do {                                                                                             \
    printf("%s:", words);                                                                          \
    for (size_t at_ = 0; at_ < (size_t)(count); at_++) printf(" " format, (values)[at_]);          \
    printf("\n");                                                                                  \
  } while (0)

static inline void print_i32(const char *words, const int32_t *values, uint64_t count) {
  PRINT(words, "%" PRId32, values, count);
}

static inline void print_u64(const char *words, const uint64_t *values, uint64_t count) {
  PRINT(words, "%" PRIu64, values, count);
}

static inline void print_u8(const char *words, const uint8_t *values, uint64_t count) {
  PRINT(words, "%u", values, count);
}

static inline void print_f64(const char *words, const double *values, uint64_t count) {
  PRINT(words, "%g", values, count);
}

/* Prints bytes between bars; a zero byte is printed as a dot. */
static inline void print_text(const char *words, const void *bytes, uint64_t count) {
  printf("%s: |", words);
  for (uint64_t i = 0; i < count; i++) {
    char c = ((const char *)bytes)[i];
    putchar(c == 0 ? '.' : c);
  }
  printf("|\n");
}

/* Prints the text of a string handle, and frees it. */
static inline void print_string(const char *words, tiledb_string_t *string) {
  const char *view = NULL;
  size_t length = 0;
  OK(tiledb_string_view(string, &view, &length));
  print_text(words, view, length);
  OK(tiledb_string_free(&string));
}

static inline void print_domain(const tiledb_domain_t *domain) {
  tiledb_string_t *text = NULL;
  OK(tiledb_domain_dump_str(ctx, domain, &text));
  print_string("domain", text);
}

static inline tiledb_array_schema_t *new_schema(tiledb_array_type_t type) {
  tiledb_array_schema_t *schema = NULL;
  OK(tiledb_array_schema_alloc(ctx, type, &schema));
  return schema;
}

static inline tiledb_dimension_t *new_dimension(
    const char *name, tiledb_datatype_t type, const void *bounds, const void *extent) {
  tiledb_dimension_t *dimension = NULL;
  OK(tiledb_dimension_alloc(ctx, name, type, bounds, extent, &dimension));
  return dimension;
}

/* A domain of up to three INT32 dimensions: `d1`, `d2`, `d3` from 1 to 4, in tiles of 2, or with
 * other bounds. */
static inline tiledb_domain_t *i32_domain(int dimensions, int32_t low, int32_t high, int32_t extent) {
  static const char *names[] = {"d1", "d2", "d3"};
  int32_t bounds[] = {low, high};
  tiledb_domain_t *domain = NULL;
  OK(tiledb_domain_alloc(ctx, &domain));
  for (int i = 0; i < dimensions; i++) {
    tiledb_dimension_t *dimension = new_dimension(names[i], TILEDB_INT32, bounds, &extent);
    OK(tiledb_domain_add_dimension(ctx, domain, dimension));
    tiledb_dimension_free(&dimension);
  }
  return domain;
}

/* Sets such a domain. */
static inline void set_i32_domain(
    tiledb_array_schema_t *schema, int dimensions, int32_t low, int32_t high, int32_t extent) {
  tiledb_domain_t *domain = i32_domain(dimensions, low, high, extent);
  OK(tiledb_array_schema_set_domain(ctx, schema, domain));
  tiledb_domain_free(&domain);
}

/* Sets a domain of one dimension of texts. */
static inline void set_text_domain(tiledb_array_schema_t *schema, const char *name) {
  tiledb_domain_t *domain = NULL;
  OK(tiledb_domain_alloc(ctx, &domain));
  tiledb_dimension_t *dimension = new_dimension(name, TILEDB_STRING_ASCII, NULL, NULL);
  OK(tiledb_domain_add_dimension(ctx, domain, dimension));
  OK(tiledb_array_schema_set_domain(ctx, schema, domain));
  tiledb_dimension_free(&dimension);
  tiledb_domain_free(&domain);
}

static inline void add_attribute(
    tiledb_array_schema_t *schema,
    const char *name,
    tiledb_datatype_t type,
    uint32_t values,
    int nullable) {
  tiledb_attribute_t *attribute = NULL;
  OK(tiledb_attribute_alloc(ctx, name, type, &attribute));
  OK(tiledb_attribute_set_cell_val_num(ctx, attribute, values));
  OK(tiledb_attribute_set_nullable(ctx, attribute, (uint8_t)nullable));
  OK(tiledb_array_schema_add_attribute(ctx, schema, attribute));
  tiledb_attribute_free(&attribute);
}

/* Makes the array, and frees the schema. */
static inline void create(const char *uri, tiledb_array_schema_t *schema) {
  OK(tiledb_array_create(ctx, uri, schema));
  tiledb_array_schema_free(&schema);
}

/* Opens an array at a time (0 for now). What is written through it has this time. */
static inline tiledb_array_t *open_at(const char *uri, tiledb_query_type_t type, uint64_t time) {
  tiledb_array_t *array = NULL;
  OK(tiledb_array_alloc(ctx, uri, &array));
  if (time != 0) OK(tiledb_array_set_open_timestamp_end(ctx, array, time));
  OK(tiledb_array_open(ctx, array, type));
  return array;
}

static inline void close_array(tiledb_array_t *array) {
  OK(tiledb_array_close(ctx, array));
  tiledb_array_free(&array);
}

static inline tiledb_query_t *
new_query(tiledb_array_t *array, tiledb_query_type_t type, tiledb_layout_t layout) {
  tiledb_query_t *query = NULL;
  OK(tiledb_query_alloc(ctx, array, type, &query));
  OK(tiledb_query_set_layout(ctx, query, layout));
  return query;
}

/* Gives a query the ranges of a subarray: a low and a high end for each INT32 dimension. */
static inline void
set_box(tiledb_query_t *query, tiledb_array_t *array, const int32_t *ends, uint32_t dimensions) {
  tiledb_subarray_t *subarray = NULL;
  OK(tiledb_subarray_alloc(ctx, array, &subarray));
  for (uint32_t i = 0; i < dimensions; i++) {
    OK(tiledb_subarray_add_range(ctx, subarray, i, &ends[2 * i], &ends[2 * i + 1], NULL));
  }
  OK(tiledb_query_set_subarray_t(ctx, query, subarray));
  tiledb_subarray_free(&subarray);
}

static inline const char *status_of(tiledb_query_t *query) {
  tiledb_query_status_t status;
  const char *word = NULL;
  OK(tiledb_query_get_status(ctx, query, &status));
  OK(tiledb_query_status_to_str(status, &word));
  return word;
}

/* Submits, finalizes and frees a write, and closes its array. */
static inline void finish_write(tiledb_query_t *query, tiledb_array_t *array) {
  OK(tiledb_query_submit(ctx, query));
  OK(tiledb_query_finalize(ctx, query));
  tiledb_query_free(&query);
  close_array(array);
}

/* A sparse array of one INT32 dimension `d1` from 1 to 100, in tiles of 10 with 4 cells each, and
 * the INT32 attribute `a`. */
static inline void create_sparse(const char *uri) {
  tiledb_array_schema_t *schema = new_schema(TILEDB_SPARSE);
  set_i32_domain(schema, 1, 1, 100, 10);
  add_attribute(schema, "a", TILEDB_INT32, 1, 0);
  OK(tiledb_array_schema_set_capacity(ctx, schema, 4));
  create(uri, schema);
}

/* Writes cells of such an array at a time. */
static inline void write_sparse(
    const char *uri, uint64_t time, int32_t *coordinates, int32_t *values, uint64_t count) {
  tiledb_array_t *array = open_at(uri, TILEDB_WRITE, time);
  tiledb_query_t *query = new_query(array, TILEDB_WRITE, TILEDB_UNORDERED);
  uint64_t sizes[] = {count * sizeof(int32_t), count * sizeof(int32_t)};
  OK(tiledb_query_set_data_buffer(ctx, query, "d1", coordinates, &sizes[0]));
  OK(tiledb_query_set_data_buffer(ctx, query, "a", values, &sizes[1]));
  finish_write(query, array);
}

/* Prints all cells of such an array as of a time (0 for now), in row-major order. */
static inline void print_sparse(const char *words, const char *uri, uint64_t time) {
  int32_t coordinates[256], values[256];
  uint64_t sizes[] = {sizeof coordinates, sizeof values};
  tiledb_array_t *array = open_at(uri, TILEDB_READ, time);
  tiledb_query_t *query = new_query(array, TILEDB_READ, TILEDB_ROW_MAJOR);
  OK(tiledb_query_set_data_buffer(ctx, query, "d1", coordinates, &sizes[0]));
  OK(tiledb_query_set_data_buffer(ctx, query, "a", values, &sizes[1]));
  OK(tiledb_query_submit(ctx, query));
  printf("%s: %s\n", words, status_of(query));
  print_i32("  d1", coordinates, sizes[0] / sizeof(int32_t));
  print_i32("  a", values, sizes[1] / sizeof(int32_t));
  tiledb_query_free(&query);
  close_array(array);
}

/* A dense array of two INT32 dimensions from 1 to 4, in tiles of 2, and the INT32 attribute `a`. */
static inline void create_dense(const char *uri) {
  tiledb_array_schema_t *schema = new_schema(TILEDB_DENSE);
  set_i32_domain(schema, 2, 1, 4, 2);
  add_attribute(schema, "a", TILEDB_INT32, 1, 0);
  create(uri, schema);
}

/* Writes a box of such an array at a time. */
static inline void write_dense(
    const char *uri,
    uint64_t time,
    tiledb_layout_t layout,
    const int32_t *ends,
    int32_t *values,
    uint64_t count) {
  tiledb_array_t *array = open_at(uri, TILEDB_WRITE, time);
  tiledb_query_t *query = new_query(array, TILEDB_WRITE, layout);
  uint64_t size = count * sizeof(int32_t);
  set_box(query, array, ends, 2);
  OK(tiledb_query_set_data_buffer(ctx, query, "a", values, &size));
  finish_write(query, array);
}

/* Prints a box of such an array as of a time. */
static inline void print_dense(
    const char *words, const char *uri, uint64_t time, tiledb_layout_t layout, const int32_t *ends) {
  int32_t values[64];
  uint64_t size = sizeof values;
  tiledb_array_t *array = open_at(uri, TILEDB_READ, time);
  tiledb_query_t *query = new_query(array, TILEDB_READ, layout);
  set_box(query, array, ends, 2);
  OK(tiledb_query_set_data_buffer(ctx, query, "a", values, &size));
  OK(tiledb_query_submit(ctx, query));
  print_i32(words, values, size / sizeof(int32_t));
  tiledb_query_free(&query);
  close_array(array);
}

#endif
