package main

import "sync/atomic"

// handOver is a ring that passes numbers from one goroutine to one other, in order, without a lock.
type handOver struct {
	ring  []uint32
	_     [64]byte
	given uint64
	_     [64]byte
	taken uint64
}

func newHandOver(room int) *handOver {
	size := 1
	for size < room {
		size *= 2
	}
	return &handOver{ring: make([]uint32, size)}
}

func (h *handOver) full() bool {
	return atomic.LoadUint64(&h.given)-atomic.LoadUint64(&h.taken) == uint64(len(h.ring))
}

// give must have room: the giver has called full.
func (h *handOver) give(number uint32) {
	end := atomic.LoadUint64(&h.given)
	h.ring[end&uint64(len(h.ring)-1)] = number
	atomic.StoreUint64(&h.given, end+1)
}

func (h *handOver) take() (uint32, bool) {
	begin := atomic.LoadUint64(&h.taken)
	if begin == atomic.LoadUint64(&h.given) {
		return 0, false
	}
	number := h.ring[begin&uint64(len(h.ring)-1)]
	atomic.StoreUint64(&h.taken, begin+1)
	return number, true
}
