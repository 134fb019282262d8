// The workloads of `foliot bench` that other programs do, with Go's timers.
//
//	peer WORKLOAD N THREADS MILLISECONDS [SEED]
//
// W5W1, W5W1-remote, W5W2: N timers, THREADS goroutines on as many processors, measured for MILLISECONDS
// after a warm-up; they do what is described in bench/workloads/crew.hpp. W6-…: N sleeps, one
// after the other. AfterFunc1000, …: own.go. Writes one line of JSON:
//
//	{"version": "go1.22.1", "ns": 31.4}            ns an operation of all goroutines together
//	{"version": "go1.22.1", "ns": 812.5, "worst_ns": 9120}  of lateness: the average, and the worst
//	{"version": "go1.22.1", "ns": 812.5, "bytes": 2610}     of sleeping goroutines: to start one, and its memory
//	{"version": "go1.22.1", "lateness_ns": [812, …]}
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
)

type answer struct {
	Version  string  `json:"version"`
	Ns       float64 `json:"ns,omitempty"`
	Worst    float64 `json:"worst_ns,omitempty"`
	Bytes    float64 `json:"bytes,omitempty"`
	Lateness []int64 `json:"lateness_ns,omitempty"`
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	if err != nil || value < 1 {
		refuse("'" + text + "' is no positive number")
	}
	return value
}

func refuse(why string) {
	fmt.Fprintln(os.Stderr, why)
	os.Exit(2)
}

func main() {
	if len(os.Args) < 5 || len(os.Args) > 6 {
		refuse("usage: peer WORKLOAD N THREADS MILLISECONDS [SEED]")
	}
	n, threads, milliseconds, seed := number(os.Args[2]), number(os.Args[3]), number(os.Args[4]), 1
	if len(os.Args) == 6 {
		seed = number(os.Args[5])
	}
	told := answer{Version: runtime.Version()}
	switch os.Args[1] {
	case "W5W1", "W5W1-remote", "W5W2":
		told.Ns = share(os.Args[1], n, threads, milliseconds, uint64(seed))
	case "W6-100us", "W6-1ms", "W6-10ms":
		told.Lateness = sleep(os.Args[1], n)
	default:
		told = own(os.Args[1], threads, milliseconds)
	}
	if err := json.NewEncoder(os.Stdout).Encode(told); err != nil {
		refuse(err.Error())
	}
}
