/* Calls Borgelt's miners, from a database in memory to text in a file, for bench/itemset_peers.cpp. Plain C. */
#ifndef BATMAP_BENCH_BORGELT_H
#define BATMAP_BENCH_BORGELT_H

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct BorgeltData BorgeltData; /* transactions; a miner frees them */

BorgeltData* borgelt_create(void);
/* Adds a transaction of `count` items, given by name. */
void borgelt_add(BorgeltData* data, const char* const* items, int count);

enum BorgeltMiner { BORGELT_ECLAT, BORGELT_FPGROWTH, BORGELT_APRIORI, BORGELT_MINERS };
const char* borgelt_name(enum BorgeltMiner miner);

enum BorgeltTarget { BORGELT_ALL, BORGELT_CLOSED, BORGELT_MAXIMAL };

/* Writes every itemset of the target as "a b c (support)" and frees the data. Returns the number of itemsets, or -1. */
long borgelt_mine(BorgeltData* data, enum BorgeltMiner miner, enum BorgeltTarget target, long min_count, FILE* out);

#ifdef __cplusplus
}
#endif

#endif
