/* Filters: every type, its options, refusals. */
#include "check.h"

static tiledb_filter_t *of_type(tiledb_filter_type_t type) {
  tiledb_filter_t *filter = NULL;
  OK(tiledb_filter_alloc(ctx, type, &filter));
  return filter;
}

static void integer(tiledb_filter_t *filter, const char *words, tiledb_filter_option_t option, int32_t value) {
  int32_t found = -77;
  int set = tiledb_filter_set_option(ctx, filter, option, &value);
  int get = tiledb_filter_get_option(ctx, filter, option, &found);
  printf("%s %d: set %d, get %d, %d\n", words, value, set, get, found);
}

static void window(tiledb_filter_t *filter, tiledb_filter_option_t option, uint32_t value) {
  uint32_t found = 77;
  int set = tiledb_filter_set_option(ctx, filter, option, &value);
  int get = tiledb_filter_get_option(ctx, filter, option, &found);
  printf("window %u: set %d, get %d, %u\n", value, set, get, found);
}

int main(void) {
  begin();
  tiledb_filter_t *filter = NULL;
  const tiledb_filter_type_t types[] = {
      TILEDB_FILTER_NONE,        TILEDB_FILTER_GZIP,        TILEDB_FILTER_ZSTD,
      TILEDB_FILTER_LZ4,         TILEDB_FILTER_RLE,         TILEDB_FILTER_BZIP2,
      TILEDB_FILTER_DOUBLE_DELTA, TILEDB_FILTER_BIT_WIDTH_REDUCTION, TILEDB_FILTER_BITSHUFFLE,
      TILEDB_FILTER_BYTESHUFFLE, TILEDB_FILTER_POSITIVE_DELTA, TILEDB_FILTER_CHECKSUM_MD5,
      TILEDB_FILTER_CHECKSUM_SHA256, TILEDB_FILTER_DICTIONARY, TILEDB_FILTER_SCALE_FLOAT,
      TILEDB_FILTER_XOR,         TILEDB_FILTER_DELTA,
  };
  for (size_t i = 0; i < COUNT(types); i++) {
    tiledb_filter_type_t found;
    const char *word = NULL;
    filter = of_type(types[i]);
    OK(tiledb_filter_get_type(ctx, filter, &found));
    OK(tiledb_filter_type_to_str(found, &word));
    printf("%s: same type %d", word, found == types[i]);
    /* A level belongs to the compressors. */
    int32_t level = 3, read = -77;
    printf(", set %d", tiledb_filter_set_option(ctx, filter, TILEDB_COMPRESSION_LEVEL, &level));
    printf(", get %d, %d\n", tiledb_filter_get_option(ctx, filter, TILEDB_COMPRESSION_LEVEL, &read), read);
    tiledb_filter_free(&filter);
  }

  filter = of_type(TILEDB_FILTER_ZSTD);
  int32_t level = 0;
  OK(tiledb_filter_get_option(ctx, filter, TILEDB_COMPRESSION_LEVEL, &level));
  printf("default level: %d\n", level);
  integer(filter, "level", TILEDB_COMPRESSION_LEVEL, 22);
  integer(filter, "level", TILEDB_COMPRESSION_LEVEL, -5);
  window(filter, TILEDB_BIT_WIDTH_MAX_WINDOW, 64);
  tiledb_filter_free(&filter);

  filter = of_type(TILEDB_FILTER_BIT_WIDTH_REDUCTION);
  uint32_t found = 0;
  OK(tiledb_filter_get_option(ctx, filter, TILEDB_BIT_WIDTH_MAX_WINDOW, &found));
  printf("default window: %u\n", found);
  window(filter, TILEDB_BIT_WIDTH_MAX_WINDOW, 1024);
  window(filter, TILEDB_BIT_WIDTH_MAX_WINDOW, 0);
  window(filter, TILEDB_POSITIVE_DELTA_MAX_WINDOW, 1024);
  tiledb_filter_free(&filter);
  filter = of_type(TILEDB_FILTER_POSITIVE_DELTA);
  OK(tiledb_filter_get_option(ctx, filter, TILEDB_POSITIVE_DELTA_MAX_WINDOW, &found));
  printf("default window: %u\n", found);
  window(filter, TILEDB_POSITIVE_DELTA_MAX_WINDOW, 7);
  tiledb_filter_free(&filter);

  filter = of_type(TILEDB_FILTER_SCALE_FLOAT);
  double factor = 0.5, offset = -3, real = 0;
  uint64_t width = 0;
  OK(tiledb_filter_get_option(ctx, filter, TILEDB_SCALE_FLOAT_BYTEWIDTH, &width));
  OK(tiledb_filter_get_option(ctx, filter, TILEDB_SCALE_FLOAT_FACTOR, &real));
  printf("defaults: width %" PRIu64 ", factor %g\n", width, real);
  OK(tiledb_filter_set_option(ctx, filter, TILEDB_SCALE_FLOAT_FACTOR, &factor));
  OK(tiledb_filter_set_option(ctx, filter, TILEDB_SCALE_FLOAT_OFFSET, &offset));
  const uint64_t widths[] = {1, 2, 4, 8, 0, 3, 16};
  for (size_t i = 0; i < COUNT(widths); i++) {
    int code = tiledb_filter_set_option(ctx, filter, TILEDB_SCALE_FLOAT_BYTEWIDTH, &widths[i]);
    printf("width %" PRIu64 ": %d\n", widths[i], code);
  }
  OK(tiledb_filter_get_option(ctx, filter, TILEDB_SCALE_FLOAT_BYTEWIDTH, &width));
  OK(tiledb_filter_get_option(ctx, filter, TILEDB_SCALE_FLOAT_FACTOR, &real));
  printf("width %" PRIu64 ", factor %g", width, real);
  OK(tiledb_filter_get_option(ctx, filter, TILEDB_SCALE_FLOAT_OFFSET, &real));
  printf(", offset %g\n", real);
  double wrong[] = {0.0 / 0.0, 1.0 / 0.0};
  CODE("factor that is not a number", tiledb_filter_set_option(ctx, filter, TILEDB_SCALE_FLOAT_FACTOR, &wrong[0]));
  CODE("infinite offset", tiledb_filter_set_option(ctx, filter, TILEDB_SCALE_FLOAT_OFFSET, &wrong[1]));
  tiledb_filter_free(&filter);

  filter = of_type(TILEDB_FILTER_DELTA);
  uint8_t type = TILEDB_UINT16, read = 0;
  OK(tiledb_filter_set_option(ctx, filter, TILEDB_COMPRESSION_REINTERPRET_DATATYPE, &type));
  OK(tiledb_filter_get_option(ctx, filter, TILEDB_COMPRESSION_REINTERPRET_DATATYPE, &read));
  printf("reinterpreted as %u\n", read);

  CODE("no value", tiledb_filter_set_option(ctx, filter, TILEDB_COMPRESSION_LEVEL, NULL));
  CODE("nowhere for a value", tiledb_filter_get_option(ctx, filter, TILEDB_COMPRESSION_LEVEL, NULL));
  CODE("no option", tiledb_filter_set_option(ctx, filter, (tiledb_filter_option_t)99, &type));
  CODE("no type", tiledb_filter_alloc(ctx, (tiledb_filter_type_t)99, &filter));
  CODE("nowhere for a filter", tiledb_filter_alloc(ctx, TILEDB_FILTER_ZSTD, NULL));
  CODE("no filter", tiledb_filter_get_type(ctx, NULL, NULL));
  tiledb_filter_free(&filter);
  printf("freed: %d\n", filter == NULL);
  return end();
}
