// oneTBB's mutexes: inlined, with the sleeping in its shared library.
#include <new>
#include <oneapi/tbb/mutex.h>
#include <oneapi/tbb/queuing_mutex.h>
#include <oneapi/tbb/rw_mutex.h>
#include <oneapi/tbb/spin_mutex.h>
#include "peer.h"

using turn = tbb::queuing_mutex::scoped_lock;

PEER(tbb_mutex, tbb::mutex, char, new (l) tbb::mutex, , l->lock(), l->unlock())

PEER(tbb_spin, tbb::spin_mutex, char, new (l) tbb::spin_mutex, , l->lock(), l->unlock())

PEER(tbb_queuing, tbb::queuing_mutex, turn, new (l) tbb::queuing_mutex, new (t) turn,
     t->acquire(*l), t->release())

SHARED(tbb_rw, tbb::rw_mutex, new (l) tbb::rw_mutex, l->lock_shared(), l->unlock_shared(),
       l->lock(), l->unlock())
