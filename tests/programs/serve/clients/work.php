<?php
// Work for a server with Debian's Pheanstalk: `php work.php PORT alone|producer|worker`. clients_test.py describes it.
require 'Pheanstalk/autoload.php';

use Pheanstalk\Exception\JobTooBigException;
use Pheanstalk\Pheanstalk;

ini_set('default_socket_timeout', '3600');  // seconds: a reserve waits until there is a job

function say(...$words): void
{
    echo json_encode($words), "\n";
}

function connect(string $port): Pheanstalk
{
    return Pheanstalk::create('127.0.0.1', (int) $port);
}

function worker(string $port, string ...$tubes): Pheanstalk
{
    $client = connect($port);
    foreach ($tubes as $tube) {
        $client->watch($tube);
    }
    return $client->ignore('default');
}

function priorities(Pheanstalk $producer, Pheanstalk $one, Pheanstalk $two): void
{
    $producer->useTube('work');
    foreach (['low' => 30, 'high' => 10, 'middle' => 20] as $body => $priority) {
        $producer->put($body, $priority, 0, 600);
    }
    $first = $one->reserve();
    say('first', $first->getData());
    $second = $two->reserve();
    say('second', $second->getData());
    $one->release($first, 5, 0);
    $again = $two->reserve();
    say('released', $again->getData());
    $two->bury($again, 7);
    $counts = $producer->statsTube('work');
    say('counts', (int) $counts['current-jobs-ready'], (int) $counts['current-jobs-reserved'],
        (int) $counts['current-jobs-buried']);
    say('kicked', $producer->kick(10));
    $kicked = $one->reserve();
    $one->touch($kicked);
    say('kicked', $kicked->getData(), (int) $one->statsJob($kicked)['pri']);
    $one->delete($kicked);
    $two->delete($second);
    $last = $one->reserve();
    say('last', $last->getData());
    $one->delete($last);
}

function tubes_and_delays(Pheanstalk $producer, Pheanstalk $one): void
{
    $producer->useTube('other');
    $producer->put('elsewhere', 1, 0, 600);
    $job = $one->reserve();
    say('other', $job->getData(), trim($one->statsJob($job)['tube'], '"'));
    $one->delete($job);
    $begun = hrtime(true);
    $producer->put('late', 1, 1, 600);
    $job = $one->reserveWithTimeout(3600);
    say('late', $job->getData(), hrtime(true) - $begun >= 999000000);
    $one->delete($job);
}

function bodies(Pheanstalk $producer, Pheanstalk $one): void
{
    $text = str_repeat("é\r\n\0", 13107) . 'x';
    $producer->useTube('work');
    $producer->put($text, 1, 0, 600);
    $job = $one->reserve();
    say('text', strlen($job->getData()), md5($job->getData()));
    $one->delete($job);
    try {
        $producer->put($text . 'x');
    } catch (JobTooBigException $error) {
        say('too big');
    }
    $one->watch('given');
    $job = $one->reserve();
    say('given', strlen($job->getData()), md5($job->getData()));
    $producer->useTube('back');
    $producer->put($job->getData(), 1, 0, 600);
    $one->delete($job);
}

function restart(Pheanstalk $producer): void
{
    $producer->useTube('work');
    $producer->put('kept', 1, 0, 600);
    $producer->put('kept and late', 2, 1, 600);
    say('restart');
    $after = worker(fgets(STDIN), 'work');
    for ($count = 0; $count < 2; ++$count) {
        $job = $after->reserveWithTimeout(3600);
        say('kept', $job->getData());
        $after->delete($job);
    }
    $counts = $after->stats();
    say('left', (int) $counts['current-jobs-ready'], (int) $counts['current-jobs-reserved'],
        (int) $counts['current-jobs-delayed'], (int) $counts['current-jobs-buried']);
}

[, $port, $role] = $argv;
if ($role === 'producer') {
    $producer = connect($port)->useTube('many');
    for ($number = 0; $number < 200; ++$number) {
        $producer->put("job $number", 10, 0, 600);
    }
    $producer->put('end', 20, 0, 600);
    $producer->put('end', 20, 0, 600);
} elseif ($role === 'worker') {
    $client = worker($port, 'many');
    do {
        $job = $client->reserve();
        say('got', $job->getData());
        $client->delete($job);
    } while ($job->getData() !== 'end');
} else {
    $producer = connect($port);
    $one = worker($port, 'work', 'other');
    $two = worker($port, 'work', 'other');
    priorities($producer, $one, $two);
    tubes_and_delays($producer, $one);
    bodies($producer, $one);
    restart($producer);
}
