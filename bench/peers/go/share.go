package main

import (
	"math"
	"runtime"
	"sync"
	"time"
)

const (
	heartbeat           = 30 * time.Second
	perLook             = 1024 // operations between two readings of the clock
	longestWarmUp       = 300 * time.Millisecond
	fewestWarm          = 10000
	quickWarm           = 64
	shortest      int64 = 20 // ms: a shorter measurement has no warm-up
)

func uniform(draw uint64) time.Duration {
	const least, most = 100 * time.Millisecond, time.Hour
	return least + time.Duration(lowerBelow(draw, uint64(most-least)))
}

type member struct {
	timers   []*time.Timer
	random   random
	spare    uint64    // the timer that is idle
	returned *handOver // its timers that another goroutine has stopped
	halves   int       // a start without its stop, or the other way round, is half an operation
	rate     float64   // operations a nanosecond
	_        [64]byte
}

// share returns the ns of one operation of all goroutines together.
func share(workload string, n, threads, milliseconds int, seed uint64) float64 {
	runtime.GOMAXPROCS(threads)
	members := make([]*member, threads)
	each := n / threads
	if each < 1 {
		each = 1
	}
	each++ // the idle one
	var ready, warm, done sync.WaitGroup
	var begun sync.Once // a goroutine that has to wait for a processor waits within its time
	var begin time.Time
	ready.Add(threads)
	warm.Add(threads)
	done.Add(threads)
	for i := range members {
		members[i] = &member{random: random{state: seed*1000003 + uint64(i)}, returned: newHandOver((each + 7) / 8)}
	}
	for i := range members {
		go func(me, other *member) {
			me.prepare(workload, each)
			ready.Done()
			ready.Wait()
			operations := fewestWarm
			if each > operations {
				operations = each
			}
			if int64(milliseconds) < shortest {
				operations = quickWarm
			}
			me.runFor(workload, other, time.Now(), longestWarmUp, operations)
			warm.Done()
			warm.Wait()
			me.halves = 0
			begun.Do(func() { begin = time.Now() })
			passed := me.runFor(workload, other, begin, time.Duration(milliseconds)*time.Millisecond, math.MaxInt)
			me.rate = float64(me.halves) / 2 / float64(passed)
			done.Done()
		}(members[i], members[(i+1)%threads])
	}
	done.Wait()
	rate := 0.0
	for _, me := range members {
		rate += me.rate
	}
	return 1 / rate
}

func (me *member) prepare(workload string, each int) {
	me.timers = make([]*time.Timer, each)
	me.spare = uint64(each - 1)
	for i := range me.timers {
		length := heartbeat
		if workload != "W5W2" {
			length = uniform(me.random.next())
		}
		me.timers[i] = time.AfterFunc(length, func() {})
	}
	me.timers[me.spare].Stop()
}

func (me *member) runFor(workload string, other *member, begin time.Time, length time.Duration,
	operations int) time.Duration {
	for {
		switch workload {
		case "W5W1":
			me.pairs()
		case "W5W2":
			me.resets()
		default:
			me.stopsOf(other)
		}
		if passed := time.Since(begin); passed >= length || me.halves/2 >= operations {
			return passed
		}
	}
}

func (me *member) pairs() {
	for i := 0; i < perLook; i++ {
		draw := me.random.next()
		me.timers[me.spare].Reset(uniform(draw))
		me.spare = upperBelow(draw, uint64(len(me.timers)))
		me.timers[me.spare].Stop()
	}
	me.halves += 2 * perLook
}

func (me *member) resets() {
	pending := uint64(len(me.timers) - 1)
	for i := 0; i < perLook; i++ {
		me.timers[upperBelow(me.random.next(), pending)].Reset(heartbeat)
	}
	me.halves += 2 * perLook
}

func (me *member) stopsOf(other *member) {
	halves := 0
	for i := 0; i < perLook; i++ {
		draw := me.random.next()
		if !other.returned.full() {
			victim := upperBelow(draw, uint64(len(other.timers)))
			if other.timers[victim].Stop() {
				other.returned.give(uint32(victim))
				halves++
			}
		}
		if mine, ok := me.returned.take(); ok {
			me.timers[mine].Reset(uniform(draw))
			halves++
		}
	}
	me.halves += halves
	if halves == 0 {
		runtime.Gosched()
	}
}
