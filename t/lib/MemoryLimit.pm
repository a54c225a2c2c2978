# SPDX-License-Identifier: GPL-2.0-or-later
#
# Ends a test that takes more memory than a test may, so that it fails alone: a machine without
# memory fails the others, too. A watcher adds up what each of prove's children and all that these
# started have in memory, page tables and swap, three times a second. Memory that processes share
# counts once. It needs /proc, and neither cgroups nor a limit of address space, of which sanitizers
# take terabytes. CheckFormatter starts and ends it.
package MemoryLimit;

use strict;
use warnings;
use Fcntl;

use constant PERIOD => 0.3;

sub megabytes { $ENV{MWRAP_TEST_MB} || 2048 }

# The watcher of this process's children; undef: it can't run here.
sub start {
    my ($class) = @_;
    return if !-r "/proc/$$/stat";
    my $pid = open my $from, '-|';
    return if !defined $pid;
    if ( !$pid ) {
        open STDIN, '<', '/dev/null';
        exec $^X, '-It/lib', '-MMemoryLimit', '-e', 'MemoryLimit->new(@ARGV)->watch', getppid, megabytes;
        die "perl: $!";
    }
    return bless { pid => $pid, from => $from }, $class;
}

# A watcher that nobody stops would be waited for.
sub DESTROY { kill TERM => $_[0]{pid} if $_[0]{pid} }

# Ends it. A line for the test that took most; undef: the watcher had died.
sub stop {
    my ($self) = @_;
    kill TERM => delete $self->{pid};
    my $said = readline $self->{from};
    close $self->{from};
    return $said;
}

sub new {
    my ( $class, $prove, $megabytes ) = @_;
    return bless { prove => $prove, limit => $megabytes * 1024, groups => {}, seen => {}, most => 0, of => 'none' }, $class;
}

sub watch {
    my ($self) = @_;
    my $end;
    $SIG{TERM} = sub { $end = 1 };
    while ( !$end && getppid == $self->{prove} ) {
        $self->look;
        select undef, undef, undef, PERIOD;
    }
    printf "%d MB, %s\n", $self->{most} / 1024, $self->{of};
}

sub content {
    my ($path) = @_;
    open my $f, '<', $path or return '';
    local $/;
    return scalar(<$f>) // '';
}

# KB of a process, without what it shares if that is asked for.
sub memory {
    my ( $pid, $share ) = @_;
    my $status = content("/proc/$pid/status");
    my $rss    = $share ? content("/proc/$pid/smaps_rollup") =~ /^Pss: +(\d+)/m && $1 : undef;
    my $sum    = 0;
    $sum += $1 if !$rss && $status =~ /^VmRSS:\s+(\d+)/m;
    $sum += $1 while $status =~ /^Vm(?:PTE|Swap):\s+(\d+)/mg;
    return $sum + ( $rss || 0 );
}

# Each process's test: by its parents, by an earlier look, or by its group or session, if the leader was of
# the test. So a process whose parent has ended is its test's, too. A process that is older than the test is
# of none.
sub owners {
    my ($self) = @_;
    my ( %parent, %groups, %born, %of );
    opendir my $dir, '/proc' or return {};
    for my $pid ( grep { /^\d+$/ && $_ > 1 && $_ != $$ } readdir $dir ) {
        my @f = split ' ', content("/proc/$pid/stat") =~ s/.*\) //sr;
        next if @f < 20 || $f[0] eq 'Z';
        $parent{$pid} = $f[1];
        $groups{$pid} = [ @f[ 2, 3 ] ];
        $born{$pid}   = $f[19];
    }
    for my $pid ( keys %parent ) {
        my $at = $pid;
        $at = $parent{$at} while $parent{$at} != $self->{prove} && exists $parent{ $parent{$at} };
        my $test = $parent{$at} == $self->{prove} ? $at : $self->{seen}{"$pid $born{$pid}"};
        $test //= $self->{groups}{$_} for @{ $groups{$pid} };
        $of{$pid} = $test if defined $test && exists $parent{$test} && $born{$pid} >= $born{$test};
    }
    my %led;
    for my $pid ( keys %of ) {
        $led{$_} = $of{$pid} for grep { $of{$_} || $self->{groups}{$_} } @{ $groups{$pid} };
    }
    @$self{qw(seen groups)} = ( { map { ( "$_ $born{$_}", $of{$_} ) } keys %of }, \%led );
    return \%of;
}

sub look {
    my ($self) = @_;
    my $of = $self->owners;
    my %pids;
    push @{ $pids{ $of->{$_} } }, $_ for keys %$of;
    for my $test ( keys %pids ) {
        my ( $sum, %each ) = 0;
        $sum += memory( $_, 0 ) for @{ $pids{$test} };
        next if $sum <= $self->{most} && $sum <= $self->{limit};
        $sum = 0;
        $sum += $each{$_} = memory( $_, 1 ) for @{ $pids{$test} };
        @$self{qw(most of)} = ( $sum, command($test) ) if $sum > $self->{most};
        $self->end_test( $test, $sum, \%each ) if $sum > $self->{limit};
    }
}

sub command {
    my ($pid) = @_;
    return content("/proc/$pid/cmdline") =~ tr/\0/ /r =~ s/[^ -~]//gr =~ s/^(.{150}).*/$1.../r =~ s/ +$//r;
}

# Its line is the last one of the test's own TAP, so it stands among what failed.
sub end_test {
    my ( $self, $test, $sum, $each ) = @_;
    my @pids = sort { $each->{$b} <=> $each->{$a} } keys %$each;
    kill STOP => @pids;
    my $line = sprintf "\nnot ok - ended: it took %d MB of memory, and a test may take %d MB\n# most of it: %d MB of process %d: %s\n",
      $sum / 1024, $self->{limit} / 1024, $each->{ $pids[0] } / 1024, $pids[0], command( $pids[0] );
    if ( sysopen my $out, "/proc/$test/fd/1", O_WRONLY | O_APPEND | O_NONBLOCK ) {
        syswrite $out, $line;
    }
    kill KILL => @pids;
}

1;
