package main

import "math/bits"

// random is splitmix64, as in bench/workloads/quick_random.hpp.
type random struct{ state uint64 }

func (r *random) next() uint64 {
	r.state += 0x9e3779b97f4a7c15
	mixed := r.state
	mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9
	mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb
	return mixed ^ (mixed >> 31)
}

// upperBelow is the upper half of a draw as a number below bound.
func upperBelow(draw, bound uint64) uint64 { return ((draw >> 32) * bound) >> 32 }

// lowerBelow is the lower half of a draw, likewise.
func lowerBelow(draw, bound uint64) uint64 {
	high, low := bits.Mul64(draw&0xffffffff, bound)
	return high<<32 | low>>32
}
