// The events that the server of check-hostile counts and makes fail: see faults.c. The state is one page that
// all processes of the server share.
#ifndef BATMAP_FAULTS_H
#define BATMAP_FAULTS_H

#include <stdint.h>

typedef enum FaultKind {
  FAULT_PALLOC,      // an allocation in a memory context fails: 53200
  FAULT_MMAP,        // mmap returns MAP_FAILED, ENOMEM
  FAULT_THREAD,      // pthread_create returns EAGAIN
  FAULT_TEMP_WRITE,  // a write to a temporary file fails, ENOSPC
  FAULT_INTERRUPT,   // a check of the interrupt flag finds a cancel: 57014
  FAULT_KINDS
} FaultKind;

typedef struct FaultState {
  volatile int32_t pid;  // the armed backend, including its parallel workers; 0: none
  volatile int32_t kind;
  volatile int64_t nth;      // the event that fails; 0: none, events are only counted
  volatile int64_t counted;  // events since it was armed
  volatile int32_t fired;    // how often the event failed: 0 or 1
} FaultState;

extern __attribute__((visibility("default"))) FaultState* fault_state(void);

#endif
