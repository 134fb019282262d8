package main

import "time"

// sleep returns how late each of n sleeps ended.
func sleep(workload string, n int) []int64 {
	length := map[string]time.Duration{
		"W6-100us": 100 * time.Microsecond, "W6-1ms": time.Millisecond, "W6-10ms": 10 * time.Millisecond,
	}[workload]
	late := make([]int64, n)
	for i := range late {
		begin := time.Now()
		time.Sleep(length)
		late[i] = int64(time.Since(begin) - length)
	}
	return late
}
