/* Replaces a header that pyfim leaves out: the two functions that Borgelt's report module needs. Items are numbers here,
   which need no quotes. */
#ifndef BATMAP_BENCH_SCANNER_H
#define BATMAP_BENCH_SCANNER_H

#include <string.h>

static inline size_t scn_fmtlen(const char* text, size_t* length) { return *length = strlen(text); }
static inline size_t scn_format(char* out, const char* text, int quotes) {
  (void)quotes;
  strcpy(out, text);
  return strlen(text);
}

#endif
