# SPDX-License-Identifier: GPL-2.0-or-later
#
# prove's output for bin/check (t/lib/prove.sh): a line for each file that has ended, with
# how many have, after how long, and its seconds and those of CPU; below it the failed tests and their reasons, also
# where several files run at a time. At the end, above prove's own words: the slowest files and the dearest, all skips
# by their reasons, and each failed test again, with the first lines of its reasons.
# With -v it prints as prove does.
package CheckFormatter;

use strict;
use warnings;
use base 'TAP::Formatter::Console';
use MemoryLimit;

use constant { SLOWEST => 10, REASONS => 12, WIDTH => 300 };

sub prepare {
    my ( $self, @tests ) = @_;
    $self->{check} = { files => scalar @tests, done => 0, start => time, skips => {}, failed => [], cpu => {}, reaped => reaped() };
    $self->SUPER::prepare(@tests);
    $self->_output( sprintf "%d files, %d at a time\n", scalar @tests, $self->jobs ) if @tests > 1 && !$self->silent;
    $self->{check}{limit} = MemoryLimit->start;
    my $limit = $self->{check}{limit} ? sprintf( 'at most %d MB', MemoryLimit::megabytes ) : 'any, as /proc can\'t be read';
    $self->_output("Memory that each may take: $limit\n") if !$self->silent;
}

sub open_test {
    my ( $self, $test, $parser ) = @_;
    my $skips = $self->{check}{skips};
    $parser->callback( test => sub { $skips->{ $_[0]->explanation =~ s/\\#/#/gr }++ if $_[0]->has_skip } );
    return $self->SUPER::open_test( $test, $parser ) if $self->verbose;
    return CheckFormatter::Session->new( { name => $test, formatter => $self, parser => $parser } );
}

# Seconds of CPU of the tests that have ended, and of all that these waited for: prove waits for a test as it ends.
sub reaped { my ( undef, undef, $user, $system ) = times; $user + $system }

sub note_cpu {
    my ( $self, $test ) = @_;
    my $check = $self->{check};
    my $now   = reaped();
    ( $check->{cpu}{$test}, $check->{reaped} ) = ( $now - $check->{reaped}, $now );
    return $check->{cpu}{$test};
}

sub minutes { sprintf '%d:%02d', int( $_[0] / 60 ), $_[0] % 60 }

# "[ 7/75  1:05] t/x.t ..... ": how many files have ended with this one, after how long
sub progress {
    my ( $self, $test ) = @_;
    my $check = $self->{check};
    return sprintf '[%*d/%d %6s] %s', length $check->{files}, ++$check->{done}, $check->{files},
      minutes( time - $check->{start} ), $self->_format_name($test);
}

sub summary {
    my ( $self, $aggregate, $interrupted ) = @_;
    my $most = $self->{check}{limit} && $self->{check}{limit}->stop;
    if ( !$self->silent ) {
        $self->slow_files($aggregate);
        $self->_output( "\nMost memory of a test: " . ( $most // "not known, and not limited: the watcher ended\n" ) );
        $self->skipped_tests($aggregate);
        $self->failed_tests;
    }
    $self->SUPER::summary( $aggregate, $interrupted );
}

sub slow_files {
    my ( $self, $aggregate ) = @_;
    my %seconds = map { ( $_->[0], $_->[1]->end_time - $_->[1]->start_time ) }
      grep { defined $_->[1]->end_time } map { [ $_, $aggregate->parsers($_) ] } $aggregate->descriptions;
    return if keys %seconds < 2;
    $self->most_of( 'Slowest of %d files, in seconds', \%seconds );
    $self->most_of( 'Dearest of %d files, in seconds of CPU', $self->{check}{cpu} );
}

sub most_of {
    my ( $self, $title, $of ) = @_;
    my @files = sort { $of->{$b} <=> $of->{$a} || $a cmp $b } keys %$of;
    $self->_output( sprintf "\n$title:\n", scalar @files );
    $self->_output( sprintf "%7.1f  %s\n", $of->{$_}, $_ ) for @files[ 0 .. ( @files < SLOWEST ? @files : SLOWEST ) - 1 ];
}

sub skipped_tests {
    my ( $self, $aggregate ) = @_;
    my %skips = %{ $self->{check}{skips} };
    my $all   = 0;
    for ( $aggregate->descriptions ) {
        my ($parser) = $aggregate->parsers($_);
        $skips{"$_: all of the file: $1"} = 1 if ( $parser->skip_all || '' ) =~ /(.+)/;
    }
    $all += $_ for values %skips;
    $self->_output( "\nSkipped tests: " . ( $all || 'none' ) . "\n" );
    $self->_output( sprintf "%7d  %s\n", $skips{$_}, $_ eq '' ? '(no reason given)' : $_ )
      for sort { $skips{$b} <=> $skips{$a} || $a cmp $b } keys %skips;
    $self->_output("\n");
}

sub failed_tests {
    my ($self) = @_;
    my @failed = @{ $self->{check}{failed} } or return;
    $self->_output( sprintf "Failed tests: %d\n", scalar @failed );
    for my $test (@failed) {
        my @lines = @$test > 2 + REASONS ? ( @$test[ 0 .. 1 + REASONS ], '...' ) : @$test;
        $self->_output( sprintf "    %s\n", length > WIDTH ? substr( $_, 0, WIDTH ) . '...' : $_ ) for @lines;
    }
    $self->_output("\n");
}

package CheckFormatter::Session;

use strict;
use warnings;
use base 'TAP::Formatter::Session';

sub result {
    my ( $self, $result ) = @_;
    my $formatter = $self->formatter;
    $self->{failed} = !$result->is_ok if $result->is_test;
    push @{ $formatter->{check}{failed} }, $self->{last} = [ $self->name ] if $result->is_test && $self->{failed};
    push @{ $self->{last} }, $result->raw if $self->{failed} && ( $result->is_test || $result->is_comment );
    push @{ $self->{said} }, $result->raw
      if ( $result->is_test && $self->{failed} && $formatter->failures )
      || ( $result->is_comment && ( $formatter->comments || $self->{failed} ) )
      || ( $result->is_test && $result->has_directive && $formatter->directives );
    $formatter->_failure_output( 'Bailout called.  Further testing stopped:  ' . $result->explanation . "\n" )
      if $result->is_bailout;
}

sub close_test {
    my $self      = shift;
    my $parser    = $self->parser;
    my $formatter = $self->formatter;
    my $cpu       = $formatter->note_cpu( $self->name );
    $self->parser(undef);
    return if $formatter->really_quiet;
    $formatter->_output( $formatter->progress( $self->name ) );
    if ( my $skip_all = $parser->skip_all ) {
        $formatter->_output("skipped: $skip_all\n");
    }
    elsif ( $parser->has_problems ) {
        $self->_output_test_failure($parser);
    }
    else {
        $formatter->_output( sprintf "ok %6.1f s, %5.1f of CPU\n", $parser->end_time - $parser->start_time, $cpu );
    }
    $formatter->_output("    $_\n") for $formatter->quiet ? () : @{ $self->{said} || [] };
}

1;
