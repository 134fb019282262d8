package main

import (
	"flag"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// Go's own benchmarks of its timers, under their names, to compare a foliot::runtime with. Each operation is that of Go's
// test suite; bench/go does the same in C++.

const garbagePerProcessor = 1 << 15

// own measures one of them on so many processors: ns an operation; for those of lateness the average and the worst, for
// sleeping goroutines also the bytes of each.
func own(name string, processors, milliseconds int) answer {
	runtime.GOMAXPROCS(processors)
	testing.Init()
	if err := flag.Set("test.benchtime", fmt.Sprintf("%dms", milliseconds)); err != nil {
		refuse(err.Error())
	}
	base, variant, _ := strings.Cut(name, "/")
	told := answer{Version: runtime.Version()}
	if late, known := lateness[base]; known {
		told.Ns, told.Worst = late(variant, milliseconds)
		return told
	}
	if base == "SleepingTasks100000" {
		told.Ns, told.Bytes = sleepingTasks(100000)
		return told
	}
	run, known := benchmarks[base]
	if !known {
		refuse("there is no workload '" + name + "'")
	}
	result := testing.Benchmark(func(b *testing.B) { run(b, variant) })
	told.Ns = float64(result.T.Nanoseconds()) / float64(result.N)
	return told
}

var benchmarks = map[string]func(b *testing.B, variant string){
	"AfterFunc1000":             inGarbage(afterFunc),
	"After":                     inGarbage(after),
	"Stop":                      inGarbage(stop),
	"SimultaneousAfterFunc1000": inGarbage(simultaneous),
	"StartStop1000":             inGarbage(startStop),
	"Reset":                     inGarbage(reset),
	"Sleep1000":                 inGarbage(sleeps),
	"Ticker":                    inGarbage(ticker),
	"TickerReset":               inGarbage(tickerReset),
	"TickerResetNaive":          inGarbage(tickerResetNaive),
	"AdjustTimers10000":         inGarbage(adjust),
	"WithTimeout":               withTimeout,
	"CancelTree":                cancelTree,
	"SetReadDeadline":           setReadDeadline,
	"TCP4OneShotTimeout":        oneShot("tcp4"),
	"TCP6OneShotTimeout":        oneShot("tcp6"),
	"TCP4PersistentTimeout":     persistent("tcp4"),
	"TCP6PersistentTimeout":     persistent("tcp6"),
	"WakeupParallelSpinning":    wakeup(spin),
	"WakeupParallelSyscall":     wakeup(sleepInKernel),
}

var lateness = map[string]func(variant string, milliseconds int) (average, worst float64){
	"ParallelTimerLatency":   parallelLatency,
	"StaggeredTickerLatency": staggeredLatency,
}

// inGarbage starts timers that stay pending while body is measured, as many for each processor as in Go's suite.
func inGarbage(body func(variant string) func(pb *testing.PB)) func(b *testing.B, variant string) {
	return func(b *testing.B, variant string) {
		planted := make([][]*time.Timer, runtime.GOMAXPROCS(0))
		var group sync.WaitGroup
		for i := range planted {
			group.Add(1)
			go func(i int) {
				defer group.Done()
				own := make([]*time.Timer, garbagePerProcessor)
				for j := range own {
					own[j] = time.AfterFunc(time.Hour, nil)
				}
				planted[i] = own
			}(i)
		}
		group.Wait()
		b.ResetTimer()
		run := body(variant)
		b.RunParallel(run)
		b.StopTimer()
		for _, each := range planted {
			for _, timer := range each {
				timer.Stop()
			}
		}
	}
}

func afterFunc(string) func(pb *testing.PB) {
	return func(pb *testing.PB) {
		for pb.Next() {
			left := 1000
			done := make(chan bool)
			var next func()
			next = func() {
				left--
				if left < 0 {
					done <- true
					return
				}
				time.AfterFunc(0, next)
			}
			time.AfterFunc(0, next)
			<-done
		}
	}
}

func after(string) func(pb *testing.PB) {
	return func(pb *testing.PB) {
		for pb.Next() {
			<-time.After(1)
		}
	}
}

// timerMaker makes the timers of the variants impl=chan and impl=func.
func timerMaker(variant string) func(d time.Duration) *time.Timer {
	if variant == "impl=chan" {
		return time.NewTimer
	}
	return func(d time.Duration) *time.Timer {
		c := make(chan time.Time, 1)
		timer := time.AfterFunc(d, func() { c <- time.Now() })
		timer.C = c
		return timer
	}
}

func stop(variant string) func(pb *testing.PB) {
	start := timerMaker(variant)
	return func(pb *testing.PB) {
		for pb.Next() {
			start(time.Second).Stop()
		}
	}
}

func simultaneous(string) func(pb *testing.PB) {
	return func(pb *testing.PB) {
		for pb.Next() {
			var group sync.WaitGroup
			group.Add(1000)
			for i := 0; i < 1000; i++ {
				time.AfterFunc(0, group.Done)
			}
			group.Wait()
		}
	}
}

func startStop(string) func(pb *testing.PB) {
	return func(pb *testing.PB) {
		timers := make([]*time.Timer, 1000)
		for pb.Next() {
			for i := range timers {
				timers[i] = time.AfterFunc(time.Hour, nil)
			}
			for _, timer := range timers {
				timer.Stop()
			}
		}
	}
}

func reset(variant string) func(pb *testing.PB) {
	start := timerMaker(variant)
	return func(pb *testing.PB) {
		timer := start(time.Hour)
		for pb.Next() {
			timer.Reset(time.Hour)
		}
		timer.Stop()
	}
}

func sleeps(string) func(pb *testing.PB) {
	return func(pb *testing.PB) {
		for pb.Next() {
			var group sync.WaitGroup
			group.Add(1000)
			for i := 0; i < 1000; i++ {
				go func() {
					time.Sleep(1)
					group.Done()
				}()
			}
			group.Wait()
		}
	}
}

func ticker(string) func(pb *testing.PB) {
	return func(pb *testing.PB) {
		beats := time.NewTicker(1)
		for pb.Next() {
			<-beats.C
		}
		beats.Stop()
	}
}

func tickerReset(string) func(pb *testing.PB) {
	return func(pb *testing.PB) {
		beats := time.NewTicker(1)
		for pb.Next() {
			beats.Reset(2)
		}
		beats.Stop()
	}
}

func tickerResetNaive(string) func(pb *testing.PB) {
	return func(pb *testing.PB) {
		beats := time.NewTicker(1)
		for pb.Next() {
			beats.Stop()
			beats = time.NewTicker(2)
		}
		beats.Stop()
	}
}

func adjust(string) func(pb *testing.PB) {
	return func(pb *testing.PB) {
		for pb.Next() {
			timers := make([]*time.Timer, 10000)
			for i := range timers {
				timers[i] = time.AfterFunc(time.Hour, func() {})
			}
			timers[len(timers)-1].Reset(1)
			time.Sleep(time.Microsecond)
			for _, timer := range timers {
				timer.Stop()
			}
		}
	}
}

func numberIn(variant, key string) int { return number(strings.TrimPrefix(variant, key+"=")) }
