package main

import (
	"syscall"
	"testing"
	"time"
)

func spin(length time.Duration) {
	for begin := time.Now(); time.Since(begin) < length; {
	}
}

// sleepInKernel blocks its thread. Go's scheduler knows that it blocks, but not for how long.
func sleepInKernel(length time.Duration) {
	left := syscall.NsecToTimespec(length.Nanoseconds())
	for syscall.Nanosleep(&left, &left) == syscall.EINTR {
	}
}

// wakeup has two goroutines send to each other in turn. The sending one works before for the delay and 5 us more, the
// receiving one for the delay.
func wakeup(work func(time.Duration)) func(b *testing.B, variant string) {
	const longer = 5 * time.Microsecond
	return func(b *testing.B, variant string) {
		delay, err := time.ParseDuration(variant)
		if err != nil {
			refuse("'" + variant + "' is no delay")
		}
		ping, pong := make(chan struct{}), make(chan struct{})
		start, done := make(chan struct{}), make(chan struct{})
		go func() {
			<-start
			for i := 0; i < b.N; i++ {
				work(delay + longer)
				ping <- struct{}{}
				work(delay)
				<-pong
			}
			done <- struct{}{}
		}()
		go func() {
			for i := 0; i < b.N; i++ {
				work(delay)
				<-ping
				work(delay + longer)
				pong <- struct{}{}
			}
			done <- struct{}{}
		}()
		b.ResetTimer()
		start <- struct{}{}
		<-done
		<-done
	}
}
