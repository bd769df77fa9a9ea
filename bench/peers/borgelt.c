/* See borgelt.h. Each miner is called as its own main program calls it, with its defaults. */
#include "borgelt.h"

#include "apriori.h"
#include "eclat.h"
#include "fpgrowth.h"
#include "report.h"
#include "tract.h"

struct BorgeltData {
  ITEMBASE* base;
  TABAG* bag;
};

BorgeltData* borgelt_create(void) {
  BorgeltData* const data = malloc(sizeof *data);
  data->base = ib_create(0, 0);
  data->bag = tbg_create(data->base);
  return data;
}

void borgelt_add(BorgeltData* data, const char* const* items, int count) {
  ib_clear(data->base);
  for (int k = 0; k < count; ++k) ib_add2ta(data->base, items[k]);
  ib_finta(data->base, 1);
  tbg_addib(data->bag);
}

const char* borgelt_name(enum BorgeltMiner miner) {
  static const char* const names[] = {"eclat", "fpgrowth", "apriori"};
  return names[miner];
}

static int begin_report(ISREPORT* report, FILE* out) {
  return isr_setfmt(report, 0, "", " ", " <- ", " (%a)") != 0 || isr_open(report, out, "") != 0 || isr_setup(report) < 0;
}

static long end_report(ISREPORT* report, long mined) {
  const long found = (long)isr_repcnt(report);
  fflush(isr_file(report));
  return mined < 0 ? -1 : found;
}

#define MINE(type, prefix, algorithm, mode, mine)                                                                \
  type* const miner = prefix##_create(target, (double)-min_count, 100.0, 100.0, 1, ITEM_MAX, 0, 0, 1.0, algorithm, mode); \
  if (prefix##_data(miner, data->bag, 0, +2) == 0) {                                                              \
    ISREPORT* const report = isr_create(tbg_base(data->bag));                                                     \
    if (prefix##_report(miner, report) == 0 && begin_report(report, out) == 0) found = end_report(report, mine);    \
  }                                                                                                               \
  prefix##_delete(miner, 0)

static long eclat_sets(BorgeltData* data, int target, long min_count, FILE* out) {
  long found = -1;
  MINE(ECLAT, eclat, ECL_AUTO, ECL_DEFAULT, eclat_mine(miner, ITEM_MIN, 0));
  return found;
}

static long fpgrowth_sets(BorgeltData* data, int target, long min_count, FILE* out) {
  long found = -1;
  MINE(FPGROWTH, fpg, FPG_AUTO, FPG_DEFAULT, fpg_mine(miner, ITEM_MIN, 0));
  return found;
}

static long apriori_sets(BorgeltData* data, int target, long min_count, FILE* out) {
  long found = -1;
  MINE(APRIORI, apriori, APR_AUTO, APR_DEFAULT, apriori_mine(miner, ITEM_MIN, 1.0, 0));
  return found;
}

long borgelt_mine(BorgeltData* data, enum BorgeltMiner miner, enum BorgeltTarget target, long min_count, FILE* out) {
  const int wanted = target == BORGELT_CLOSED ? ISR_CLOSED : target == BORGELT_MAXIMAL ? ISR_MAXIMAL : ISR_ALL;
  const long found = miner == BORGELT_ECLAT      ? eclat_sets(data, wanted, min_count, out)
                     : miner == BORGELT_FPGROWTH ? fpgrowth_sets(data, wanted, min_count, out)
                                                 : apriori_sets(data, wanted, min_count, out);
  return found; /* the rest of the data is too small to be worth freeing */
}
