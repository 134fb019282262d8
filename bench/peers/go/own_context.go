package main

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"
)

func withTimeout(b *testing.B, variant string) {
	processors := runtime.GOMAXPROCS(0)
	each := numberIn(variant, "concurrency") / processors
	all := make([][]context.CancelFunc, processors)
	var group sync.WaitGroup
	for i := range all {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			own := make([]context.CancelFunc, each)
			for j := range own {
				_, own[j] = context.WithTimeout(context.Background(), time.Hour)
			}
			all[i] = own
		}(i)
	}
	group.Wait()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		ten := make([]context.CancelFunc, 10)
		for pb.Next() {
			for i := range ten {
				_, ten[i] = context.WithTimeout(context.Background(), time.Hour)
			}
			for _, cancel := range ten {
				cancel()
			}
		}
	})
	b.StopTimer()
	for _, each := range all {
		for _, cancel := range each {
			cancel()
		}
	}
}

func chain(root context.Context, depth int) {
	for i := 0; i < depth; i++ {
		root, _ = context.WithCancel(root)
	}
}

// One operation does what Go's suite does in three benchmarks: a chain below a root that is never done, below one that is
// cancelled afterwards, and below one that was cancelled before.
func cancelTree(b *testing.B, variant string) {
	depth := numberIn(variant, "depth")
	for i := 0; i < b.N; i++ {
		chain(context.Background(), depth)
		open, cancel := context.WithCancel(context.Background())
		chain(open, depth)
		cancel()
		closed, cancel := context.WithCancel(context.Background())
		cancel()
		chain(closed, depth)
	}
}
