package main

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// resident returns the resident memory of this process that belongs to no file, in bytes.
func resident() float64 {
	text, err := os.ReadFile("/proc/self/smaps_rollup")
	if err != nil {
		return 0
	}
	for _, line := range strings.Split(string(text), "\n") {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "Anonymous:" {
			kibibytes, _ := strconv.ParseFloat(fields[1], 64)
			return kibibytes * 1024
		}
	}
	return 0
}

// sleepingTasks starts so many goroutines that sleep for an hour, and returns the ns to start one and to let it fall
// asleep, and the memory that it takes.
func sleepingTasks(count int) (ns, bytes float64) {
	var asleep atomic.Int64
	runtime.GC()
	before := resident()
	begin := time.Now()
	for i := 0; i < count; i++ {
		go func() {
			asleep.Add(1)
			time.Sleep(time.Hour)
		}()
	}
	for int(asleep.Load()) < count {
		runtime.Gosched()
	}
	ns = float64(time.Since(begin)) / float64(count)
	return ns, (resident() - before) / float64(count)
}
