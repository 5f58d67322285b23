// Abseil's mutex, in its shared library.
#include <absl/synchronization/mutex.h>
#include <new>
#include "peer.h"

PEER(absl, absl::Mutex, char, new (l) absl::Mutex, , l->Lock(), l->Unlock())

SHARED(absl_shared, absl::Mutex, new (l) absl::Mutex, l->ReaderLock(), l->ReaderUnlock(),
       l->WriterLock(), l->WriterUnlock())
