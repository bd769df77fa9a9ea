// SQL functions that arm the faults of the server of check-hostile (faults.c) in another session.
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"

#include "faults.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(fault_arm);
PG_FUNCTION_INFO_V1(fault_disarm);

static const char *const kinds[FAULT_KINDS] = {"palloc", "mmap", "thread", "temp write", "interrupt"};

// fault_arm(kind text, nth int8, pid int4): from here on the nth event of that backend fails; 0: events are only counted.
Datum
fault_arm(PG_FUNCTION_ARGS)
{
    const char *kind = text_to_cstring(PG_GETARG_TEXT_PP(0));
    FaultState *state = fault_state();
    int number = 0;

    while (number < FAULT_KINDS && strcmp(kinds[number], kind) != 0)
        number++;
    if (number == FAULT_KINDS || state == NULL)
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("there is no fault of kind \"%s\"", kind)));
    state->pid = 0;
    state->kind = number;
    state->nth = PG_GETARG_INT64(1);
    state->counted = 0;
    state->fired = 0;
    state->pid = PG_GETARG_INT32(2);
    PG_RETURN_VOID();
}

// fault_disarm() -> counted int8: the events since fault_arm; negative where one of them failed.
Datum
fault_disarm(PG_FUNCTION_ARGS)
{
    FaultState *state = fault_state();

    state->pid = 0;
    PG_RETURN_INT64(state->fired > 0 ? -state->counted : state->counted);
}
