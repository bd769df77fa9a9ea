// Included before every source file of the server and of the library in the build for check-hostile
// (-include). Each read of the flag of CHECK_FOR_INTERRUPTS() becomes a call, which can count it and simulate
// a cancel (faults.c). The declaration of the flag in the server becomes the declaration of that function.
// The file that defines the flag is compiled without this header.
#define InterruptPending (*fault_interrupt_pending())
