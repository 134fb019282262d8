// Work for a server with github.com/beanstalkd/go-beanstalk: `work PORT alone|producer|worker`. clients_test.py
// describes it.
package main

import (
	"bufio"
	"crypto/md5"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/beanstalkd/go-beanstalk"
)

const (
	ttr     = 600 * time.Second
	forever = time.Hour
)

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func say(words ...any) {
	fmt.Println(string(must(json.Marshal(words))))
}

func connect(port string) *beanstalk.Conn {
	return must(beanstalk.Dial("tcp", "127.0.0.1:"+port))
}

type job struct {
	id   uint64
	body []byte
}

func reserve(from *beanstalk.TubeSet) job {
	id, body, err := from.Reserve(forever)
	check(err)
	return job{id, body}
}

func put(to *beanstalk.Conn, tube string, body []byte, priority uint32, delay time.Duration) {
	must(beanstalk.NewTube(to, tube).Put(body, priority, delay, ttr))
}

func digest(of job) string {
	return fmt.Sprintf("%x", md5.Sum(of.body))
}

func number(statistics map[string]string, key string) int {
	return must(strconv.Atoi(statistics[key]))
}

func priorities(producer *beanstalk.Conn, one, two *beanstalk.TubeSet) {
	put(producer, "work", []byte("low"), 30, 0)
	put(producer, "work", []byte("high"), 10, 0)
	put(producer, "work", []byte("middle"), 20, 0)
	first := reserve(one)
	say("first", string(first.body))
	second := reserve(two)
	say("second", string(second.body))
	check(one.Conn.Release(first.id, 5, 0))
	again := reserve(two)
	say("released", string(again.body))
	check(two.Conn.Bury(again.id, 7))
	work := beanstalk.NewTube(producer, "work")
	counts := must(work.Stats())
	say("counts", number(counts, "current-jobs-ready"), number(counts, "current-jobs-reserved"),
		number(counts, "current-jobs-buried"))
	say("kicked", must(work.Kick(10)))
	kicked := reserve(one)
	check(one.Conn.Touch(kicked.id))
	say("kicked", string(kicked.body), number(must(one.Conn.StatsJob(kicked.id)), "pri"))
	check(one.Conn.Delete(kicked.id))
	check(two.Conn.Delete(second.id))
	last := reserve(one)
	say("last", string(last.body))
	check(one.Conn.Delete(last.id))
}

func tubesAndDelays(producer *beanstalk.Conn, one *beanstalk.TubeSet) {
	put(producer, "other", []byte("elsewhere"), 1, 0)
	got := reserve(one)
	say("other", string(got.body), strings.Trim(must(one.Conn.StatsJob(got.id))["tube"], `"`))
	check(one.Conn.Delete(got.id))
	begun := time.Now()
	put(producer, "other", []byte("late"), 1, time.Second)
	got = reserve(one)
	say("late", string(got.body), time.Since(begun) >= 999*time.Millisecond)
	check(one.Conn.Delete(got.id))
}

func bodies(producer *beanstalk.Conn, one *beanstalk.TubeSet) {
	text := []byte(strings.Repeat("é\r\n\000", 13107) + "x")
	put(producer, "work", text, 1, 0)
	got := reserve(one)
	say("text", len(got.body), digest(got))
	check(one.Conn.Delete(got.id))
	_, err := beanstalk.NewTube(producer, "work").Put(append(text, 'x'), 1, 0, ttr)
	if errors.Is(err.(beanstalk.ConnError).Err, beanstalk.ErrJobTooBig) {
		say("too big")
	}
	got = reserve(beanstalk.NewTubeSet(one.Conn, "work", "other", "given"))
	say("given", len(got.body), digest(got))
	put(producer, "back", got.body, 1, 0)
	check(one.Conn.Delete(got.id))
}

func restart(producer *beanstalk.Conn) {
	put(producer, "work", []byte("kept"), 1, 0)
	put(producer, "work", []byte("kept and late"), 2, time.Second)
	say("restart")
	port := strings.TrimSpace(must(bufio.NewReader(os.Stdin).ReadString('\n')))
	after := beanstalk.NewTubeSet(connect(port), "work")
	for count := 0; count < 2; count++ {
		got := reserve(after)
		say("kept", string(got.body))
		check(after.Conn.Delete(got.id))
	}
	counts := must(after.Conn.Stats())
	say("left", number(counts, "current-jobs-ready"), number(counts, "current-jobs-reserved"),
		number(counts, "current-jobs-delayed"), number(counts, "current-jobs-buried"))
}

func main() {
	port, role := os.Args[1], os.Args[2]
	switch role {
	case "producer":
		producer := connect(port)
		for number := 0; number < 200; number++ {
			put(producer, "many", []byte(fmt.Sprintf("job %d", number)), 10, 0)
		}
		put(producer, "many", []byte("end"), 20, 0)
		put(producer, "many", []byte("end"), 20, 0)
	case "worker":
		many := beanstalk.NewTubeSet(connect(port), "many")
		for {
			got := reserve(many)
			say("got", string(got.body))
			check(many.Conn.Delete(got.id))
			if string(got.body) == "end" {
				return
			}
		}
	default:
		producer := connect(port)
		one := beanstalk.NewTubeSet(connect(port), "work", "other")
		two := beanstalk.NewTubeSet(connect(port), "work", "other")
		priorities(producer, one, two)
		tubesAndDelays(producer, one)
		bodies(producer, one)
		restart(producer)
	}
}
