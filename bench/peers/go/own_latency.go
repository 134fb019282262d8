package main

import (
	"math"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// warmUp gives each processor a thread that has run.
func warmUp(processors int) {
	var group sync.WaitGroup
	var here atomic.Int32
	for i := 0; i < processors; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			here.Add(1)
			for int(here.Load()) < processors {
			}
			spin(time.Millisecond)
		}()
	}
	group.Wait()
}

func parallelLatency(_ string, milliseconds int) (average, worst float64) {
	const delay = time.Millisecond
	timers := runtime.GOMAXPROCS(0) - 1
	if timers < 1 {
		refuse("it takes two processors")
	}
	warmUp(timers + 1)
	spin(30 * time.Millisecond) // the runtime's monitor of idle processors goes to sleep
	var all []float64
	for begin := time.Now(); time.Since(begin) < time.Duration(milliseconds)*time.Millisecond; {
		late := make([]float64, timers)
		var fired atomic.Int32
		for i := range late {
			i, expected := i, time.Now().Add(delay)
			time.AfterFunc(delay, func() {
				late[i] = math.Max(0, float64(time.Since(expected)))
				fired.Add(1)
				for int(fired.Load()) < timers { // keeps its processor until all have fired
				}
			})
		}
		for int(fired.Load()) < timers {
		}
		all = append(all, late...)
		spin(time.Millisecond) // the other processors become idle
	}
	return averageAndWorst(all)
}

// The variant is "work=300us/tickers=2", for each processor.
func staggeredLatency(variant string, milliseconds int) (average, worst float64) {
	const period = 3 * time.Millisecond
	workText, tickersText, _ := strings.Cut(variant, "/")
	work, err := time.ParseDuration(strings.TrimPrefix(workText, "work="))
	if err != nil {
		refuse("'" + variant + "' says no work")
	}
	tickers, err := strconv.Atoi(strings.TrimPrefix(tickersText, "tickers="))
	if err != nil {
		refuse("'" + variant + "' says no tickers")
	}
	processors := runtime.GOMAXPROCS(0)
	beats := milliseconds / 3
	if beats < 3 {
		beats = 3
	}
	late := make([][]float64, tickers*processors)
	for i := range late {
		late[i] = make([]float64, beats)
	}
	warmUp(processors)
	var group sync.WaitGroup
	for i := range late {
		spin(period / time.Duration(processors))
		expected := time.Now().Add(period)
		ticker := time.NewTicker(period)
		group.Add(1)
		go func(late []float64) {
			defer group.Done()
			defer ticker.Stop()
			for j := range late {
				<-ticker.C
				late[j] = math.Max(0, float64(time.Since(expected)))
				expected = expected.Add(period)
				spin(work)
			}
		}(late[i])
	}
	group.Wait()
	var all []float64
	for _, each := range late {
		all = append(all, each...)
	}
	return averageAndWorst(all)
}

func averageAndWorst(all []float64) (average, worst float64) {
	sort.Float64s(all)
	for _, each := range all {
		average += each
	}
	return average / float64(len(all)), all[len(all)-1]
}
