// Read before every source file of the server and of the library in the build for check-hostile (-include): each look at the
// flag that CHECK_FOR_INTERRUPTS() reads becomes a call, which can count it and make it find a cancel (faults.c). The
// server's own declaration of the flag turns into the declaration of that function. The file that defines the flag is
// compiled without this.
#define InterruptPending (*fault_interrupt_pending())
